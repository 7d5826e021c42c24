import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "playwright/test";
import { findBrowser } from "../scripts/lib/browser.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Chromium's sandbox does not start as root in a container. */
const SANDBOX = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

let folder: string;
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-perf-"));
});
test.afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** `naiad perf` with a browser of its own. */
async function perf(...argv: readonly string[]) {
  const browser = findBrowser();
  const models = ["--model-repository", join(ROOT, "public/models")];
  const command = spawn(
    process.execPath,
    ["packages/naiad/bin/naiad.js", "perf", ...models, ...SANDBOX, ...argv],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...(browser !== undefined && { NAIAD_BROWSER: browser }) },
    },
  );
  let out = "";
  let error = "";
  command.stdout.on("data", (text: Buffer) => (out += text.toString()));
  command.stderr.on("data", (text: Buffer) => (error += text.toString()));
  const code = await new Promise<number | null>((resolve) => command.once("close", resolve));
  return { code, out, error };
}

for (const transport of ["port", "fetch"]) {
  test(`naiad perf measures inside a page, over ${transport}`, async () => {
    const [csv, profile] = [join(folder, "report.csv"), join(folder, "profile.json")];
    const { code, error, out } = await perf(
      ...["-m", "sequence_sum", "--transport", transport, "--request-count", "12", "--sequence-length", "4"],
      ...["--concurrency-range", "1:2", "--request-parameter", "big:9007199254740993:int"],
      ...["-f", csv, "--profile-export-file", profile],
    );
    expect({ code, error }).toEqual({ code: 0, error: "" });
    expect(out).toMatch(/^\*\*\* Measurement Settings \*\*\*\n {2}Batch size: 1\n {2}Service Kind: Triton\n/);
    expect(out).toMatch(/\nRequest concurrency: 2\n {2}Client:\n {4}Request count: 12\n/);
    expect(out).toMatch(/\nConcurrency: 2, throughput: [\d.]+ infer\/sec, latency \d+ usec\n$/);
    expect((await readFile(csv, "utf8")).split("\n")).toHaveLength(4);
    const { experiments } = JSON.parse(await readFile(profile, "utf8")) as {
      readonly experiments: readonly { readonly requests: readonly object[] }[];
    };
    expect(experiments.map(({ requests }) => requests.length)).toEqual([12, 12]);
  });
}

test("naiad perf tells why a page cannot measure, and leaves no browser behind", async () => {
  const { code, error } = await perf("-m", "none", "--transport", "port");
  expect(code).toBe(1);
  expect(error).toContain("naiad perf: failed to load all models: none:");
});
