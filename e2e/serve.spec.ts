import { existsSync } from "node:fs";
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "playwright/test";
import { findBrowser } from "../scripts/lib/browser.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Chromium's sandbox does not start as root in a container. */
const SANDBOX = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

const started: ChildProcess[] = [];
let repository: string;
/** Programs that come before those of the machine. */
let tools: string;

test.beforeEach(async () => {
  repository = await mkdtemp(join(tmpdir(), "naiad-serve-"));
  tools = await mkdtemp(join(tmpdir(), "naiad-tools-"));
});
test.afterEach(async () => {
  for (const process of started.splice(0)) process.kill("SIGKILL");
  await rm(repository, { recursive: true });
  await rm(tools, { recursive: true });
});

async function addModel(name: string): Promise<void> {
  await cp(join(ROOT, "public/models", name), join(repository, name), { recursive: true });
}

/** A machine with this GPU, as far as the command can see. */
async function fakeNvidiaSmi(): Promise<void> {
  const program = join(tools, "nvidia-smi");
  await writeFile(program, '#!/bin/sh\necho "GPU-7, 25, 100, 40, 50.00, 70.00"\n', { mode: 0o755 });
}

/** Starts `naiad serve` with free ports. */
function naiadServe(...argv: string[]) {
  const browser = findBrowser();
  const command = spawn(
    process.execPath,
    ["packages/naiad/bin/naiad.js", "serve", "--http-port=0", "--grpc-port=0", "--metrics-port=0", ...argv],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        PATH: `${tools}:${process.env["PATH"] ?? ""}`,
        ...(browser !== undefined && { NAIAD_BROWSER: browser }),
      },
    },
  );
  started.push(command);
  let log = "";
  command.stderr.on("data", (text: Buffer) => (log += text.toString()));
  const exited = new Promise<number | null>((resolve) => command.once("exit", resolve));
  const portOf = (service: string): string | undefined =>
    new RegExp(`Started ${service} at (127\\.0\\.0\\.1:\\d+)`).exec(log)?.[1];
  return {
    command,
    exited,
    log: () => log,
    async whenStarted(): Promise<{ readonly http: string; readonly metrics: string }> {
      await Promise.race([
        expect.poll(() => portOf("Metrics Service"), { timeout: 40_000, message: "started" }).toBeDefined(),
        exited.then((code) => {
          throw new Error(`naiad serve exited with ${String(code)}:\n${log}`);
        }),
      ]);
      return {
        http: `http://${portOf("HTTPService") ?? ""}`,
        metrics: `http://${portOf("Metrics Service") ?? ""}`,
      };
    },
    async browserPid(): Promise<number> {
      const pid = String(command.pid);
      const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
      for (const child of children) {
        // One of another kind may have ended meanwhile.
        const words = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
        if (words.includes("--user-data-dir=")) return Number(child);
      }
      throw new Error(`no browser among the processes ${children.join(", ")}`);
    },
  };
}

function infer(at: string, model: string, inputs: readonly object[]): Promise<Response> {
  return fetch(`${at}/v2/models/${model}/infer`, { method: "POST", body: JSON.stringify({ inputs }) });
}

const ADDENDS = ["INPUT0", "INPUT1"].map((name) => ({
  name,
  datatype: "INT32",
  shape: [1, 16],
  data: Array.from({ length: 16 }, (_, index) => index),
}));
/** Long enough to be caught in the middle of, short enough to wait for. */
const LONG_RUN = 1_500;
/** Longer than anyone waits. */
const ENDLESS = 1_000_000_000_000;
const iterations = (count: number) => [
  { name: "ITERATIONS", datatype: "INT64", shape: [1, 1], data: [count] },
];

test("serves a directory on ports, follows its changes, survives its browser, and drains", async () => {
  test.setTimeout(150_000);
  await addModel("simple");
  await addModel("slow_loop");
  await fakeNvidiaSmi();
  const server = naiadServe(
    ...[
      "--metrics-interval-ms=200",
      "--model-repository",
      repository,
      "--model-control-mode=poll",
      "--repository-poll-secs=1",
      ...SANDBOX,
    ],
  );
  const { http, metrics } = await server.whenStarted();
  expect(server.log()).toContain("successfully loaded 'simple'");
  expect(server.log()).toMatch(/\| simple +\| 1 +\| READY +\|/);

  const answer = await infer(http, "simple", ADDENDS);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({
    model_name: "simple",
    outputs: [{ name: "OUTPUT0", data: ADDENDS[0]?.data.map((value) => 2 * value) }, { name: "OUTPUT1" }],
  });
  const told = async (): Promise<string> => (await fetch(`${metrics}/metrics`)).text();
  await expect.poll(told).toContain('nv_gpu_utilization{gpu_uuid="GPU-7"} 0.25\n');
  const text = await told();
  expect(text).toContain('nv_inference_request_success{model="simple",version="1"} 1\n');
  expect(text).toContain('nv_gpu_power_limit{gpu_uuid="GPU-7"} 70\n');
  expect(text).toMatch(/^nv_energy_consumption\{gpu_uuid="GPU-7"\} \d/m);
  expect(text).toMatch(/^nv_cpu_utilization [01]/m);
  expect(text).toMatch(/^nv_cpu_memory_total_bytes \d{9,}$/m);
  expect(text).toContain('naiad_workers{kind="cpu"} 2\n');
  expect(text).toMatch(/^naiad_wasm_memory_bytes\{worker="cpu:simple:1:[^"]+"\} \d{7,}$/m);
  expect(text).toMatch(/^naiad_storage_quota_bytes \d{7,}$/m);
  expect(text).toContain("naiad_host_restarts_total 0\n");
  expect((await fetch(`${http}/metrics`)).status).toBe(404);

  await addModel("identity_fp32");
  await expect.poll(async () => (await fetch(`${http}/v2/models/identity_fp32/ready`)).status).toBe(200);
  expect((await readdir(repository)).sort()).toEqual(["identity_fp32", "simple", "slow_loop"]);

  const lost = infer(http, "slow_loop", iterations(ENDLESS));
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.kill(await server.browserPid(), "SIGKILL");
  const refused = await lost;
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain("the browser ended by signal SIGKILL");
  expect((await fetch(`${http}/v2/health/live`)).status).toBe(400);
  await expect
    .poll(async () => (await fetch(`${http}/v2/models/slow_loop/ready`)).status, { timeout: 60_000 })
    .toBe(200);

  await expect.poll(told).toContain("naiad_host_restarts_total 1\n");

  const last = infer(http, "slow_loop", iterations(LONG_RUN));
  await new Promise((resolve) => setTimeout(resolve, 100));
  server.command.kill("SIGTERM");
  const drained = await last;
  expect([drained.status, await drained.text()]).toEqual([200, expect.stringContaining('"CHECKSUM"')]);
  expect(await server.exited).toBe(0);
  expect(server.log()).toContain("Waiting for in-flight requests to complete.");
});

test("exits with the reason where it cannot start", async () => {
  await addModel("simple");
  await writeFile(join(repository, "simple/1/model.onnx"), "no model");
  const broken = naiadServe("--model-repository", repository, ...SANDBOX);
  expect(await broken.exited).toBe(1);
  expect(broken.log()).toContain("naiad serve: failed to load all models: simple");

  const misspelt = naiadServe("--model-repositry", repository);
  expect(await misspelt.exited).toBe(2);
  expect(misspelt.log()).toContain("did you mean '--model-repository'?");
});

test("leaves no browser behind when it is killed, and no profile for long", async () => {
  await addModel("simple");
  const server = naiadServe("--model-repository", repository, ...SANDBOX);
  await server.whenStarted();
  const browser = await server.browserPid();
  const words = (await readFile(`/proc/${String(browser)}/cmdline`, "utf8")).split("\0");
  const profile = words.find((word) => word.startsWith("--user-data-dir="))?.slice("--user-data-dir=".length);
  expect(profile).toBeDefined();
  server.command.kill("SIGKILL");
  await expect
    .poll(
      () => {
        try {
          return process.kill(browser, 0);
        } catch {
          return false;
        }
      },
      { timeout: 10_000 },
    )
    .toBe(false);
  // The next command, whatever becomes of it, cleans up.
  const next = naiadServe("--model-repository", repository, "--browser=/bin/false", "--no-sandbox");
  expect(await next.exited).toBe(1);
  expect(existsSync(profile ?? "/")).toBe(false);
});
