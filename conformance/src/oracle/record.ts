/**
 * Asks a real Triton everything in `scenarios/` and keeps its answers under `conformance/golden`:
 *
 *     npx tsx conformance/src/oracle/record.ts <folder of pytriton's tritonserver> <python backend stub>
 *
 * The PyPI package `nvidia-pytriton` brings the server and its Python backend: the folder is `pytriton/tritonserver` in
 * it, the stub that of the Python found first in PATH, which needs numpy 1 (with numpy 2 all tensors are empty). No GPU
 * is needed.
 */
import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MemoryModel } from "@naiad/testing";
import { modelsOf } from "./oracle-models.ts";
import type { OracleRequest, RecordedAnswer, Recording, Scenario } from "./oracle-request.ts";
import { meaningfulHeaders, recordedBody } from "./oracle-request.ts";
import { SCENARIOS } from "./scenarios/scenarios.ts";

const GOLDEN = fileURLToPath(new URL("../../golden/", import.meta.url));
const PORT = 18_123;
const START_LIMIT_MS = 60_000;

const [serverFolder, stub] = process.argv.slice(2);
if (serverFolder === undefined || stub === undefined) {
  throw new Error("usage: record.ts <folder of tritonserver> <triton_python_backend_stub>");
}
const work = await mkdtemp(join(tmpdir(), "naiad-oracle-"));
try {
  await rm(join(serverFolder, "backends/python/triton_python_backend_stub"), { force: true });
  await copyFile(stub, join(serverFolder, "backends/python/triton_python_backend_stub"));
  await mkdir(GOLDEN, { recursive: true });
  for (const scenario of SCENARIOS) {
    await rm(join(work, "models"), { recursive: true, force: true });
    await writeRepository(join(work, "models"), modelsOf(scenario));
    const recording = await record(serverFolder, scenario);
    await writeFile(join(GOLDEN, `${scenario.name}.json`), `${JSON.stringify(recording, null, 1)}\n`);
    console.log(`${scenario.name}: ${recording.answers.length} answers of Triton ${recording.server}`);
  }
} finally {
  await rm(work, { recursive: true });
}

async function writeRepository(folder: string, models: Readonly<Record<string, MemoryModel>>): Promise<void> {
  for (const [name, files] of Object.entries(models)) {
    for (const [path, content] of Object.entries(files)) {
      const file = join(folder, name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }
}

async function record(server: string, scenario: Scenario): Promise<Recording> {
  const answers: RecordedAnswer[] = [];
  let running = await startTriton(server, scenario);
  try {
    for (const request of scenario.requests) {
      const answer = await recordOne(request);
      answers.push(answer);
      if (answer.status !== 0) continue;
      await running.stop();
      running = await startTriton(server, scenario);
    }
    return { scenario: scenario.name, server: running.version, answers };
  } finally {
    await running.stop();
  }
}

interface RunningTriton {
  readonly version: string;
  stop(): Promise<void>;
}

async function startTriton(server: string, { control, loadModels }: Scenario): Promise<RunningTriton> {
  const child = spawn(
    join(server, "bin/tritonserver"),
    [
      `--model-repository=${join(work, "models")}`,
      `--backend-directory=${join(server, "backends")}`,
      `--http-port=${PORT}`,
      "--allow-grpc=false",
      "--allow-metrics=false",
      `--model-control-mode=${control}`,
      ...(control === "explicit" ? loadModels.map((model) => `--load-model=${model}`) : []),
    ],
    { stdio: "ignore" },
  );
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = (): Promise<void> => {
    child.kill();
    return exited;
  };
  try {
    return { version: await whenReady(), stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** Resolves with the server's version. */
async function whenReady(): Promise<string> {
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${PORT}/v2/health/ready`);
      if (response.ok) break;
    } catch (thrown) {
      if (Date.now() > deadline) throw thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const metadata = (await (await fetch(`http://127.0.0.1:${PORT}/v2`)).json()) as {
    readonly version: string;
  };
  return metadata.version;
}

/** Status 0 stands for a connection that ended without an answer: the request has crashed the server. */
function recordOne({ name, method, target, headers, body }: OracleRequest): Promise<RecordedAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port: PORT,
        method,
        path: target,
        headers: { ...Object.fromEntries(headers), "content-length": body.byteLength },
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () => {
          const raw = response.rawHeaders;
          const pairs = raw.flatMap((key, index): [string, string][] =>
            index % 2 === 0 ? [[key, raw[index + 1] ?? ""]] : [],
          );
          resolve({
            name,
            request: target,
            status: response.statusCode ?? 0,
            headers: meaningfulHeaders(pairs),
            body: withoutPath(recordedBody(Buffer.concat(pieces), response.headers["content-encoding"])),
          });
        });
      },
    );
    request.on("error", () => resolve({ name, request: target, status: 0, headers: {}, body: { text: "" } }));
    request.end(body);
  });
}

/** Where the models lay is nobody's business. */
function withoutPath(body: RecordedAnswer["body"]): RecordedAnswer["body"] {
  return "text" in body ? { text: body.text.replaceAll(work, "/oracle") } : body;
}
