import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBrowser } from "../scripts/lib/browser.mjs";
import type { Page } from "./fixtures.ts";
import { expect, openPage, test } from "./fixtures.ts";
import { inferJson, send } from "./requests.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FEATURES = [{ name: "FEATURES", datatype: "FP32", shape: [1, 4], data: [0.5, 0, 0, 0] }];

/** Of Triton's trace file. */
interface TraceObject {
  readonly id: number;
  readonly model_name?: string;
  readonly parent_id?: number;
  readonly timestamps?: readonly { readonly name: string }[];
}

/** What stands in a trace file: models with those that led to them, and the names of the times of the first. */
function read(text: string): { readonly models: readonly string[]; readonly times: readonly string[] } {
  const objects = JSON.parse(text) as readonly TraceObject[];
  const names = new Map(
    objects.flatMap(({ id, model_name: name }) => (name === undefined ? [] : [[id, name] as const])),
  );
  return {
    models: objects.flatMap(({ model_name: name, parent_id: parent }) =>
      name === undefined ? [] : [parent === undefined ? name : `${name} of ${names.get(parent) ?? "nobody"}`],
    ),
    times: objects
      .filter(({ id }) => id === objects[0]?.id)
      .flatMap(({ timestamps = [] }) => timestamps.map(({ name }) => name)),
  };
}

const CHAIN = ["ensemble_chain", "batcher of ensemble_chain", "classifier of ensemble_chain"];

test("a page reads the traces of its server, as Triton writes them", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_chain"], traceConfig: ["level=TIMESTAMPS", "rate=1"] });
  expect((await inferJson(blank, "ensemble_chain", FEATURES)).status).toBe(200);
  const text = await blank.evaluate(async () => {
    const { naiad, server } = window.test;
    for await (const note of server.traces()) {
      if (note.kind === "trace") return naiad.tritonTraceText([note.trace]);
    }
    throw new Error("the traces ended");
  });
  const { models, times } = read(text);
  expect(models).toEqual(CHAIN);
  expect(times).toEqual([
    ...["HTTP_RECV_START", "HTTP_RECV_END", "REQUEST_START", "QUEUE_START"],
    ...["INFER_RESPONSE_COMPLETE", "REQUEST_END", "HTTP_SEND_START", "HTTP_SEND_END"],
  ]);

  const off = await send(blank, "POST", "/v2/trace/setting", '{"trace_level":["OFF"]}');
  expect(JSON.parse(off.body)).toMatchObject({ trace_level: ["OFF"], trace_rate: "1" });
});

test("every reader has all traces, in other tabs too, until its server is stopped", async ({
  blank,
  context,
  origin,
  start,
}) => {
  const options = { loadModels: ["ensemble_chain"], traceConfig: ["level=TIMESTAMPS", "rate=1"] };
  await start(blank, options);
  const other = await context.newPage();
  await openPage(other, origin);
  await start(other, options);
  /** The ids of all that come, up to so many. */
  const ids = (page: Page, count: number): Promise<readonly number[]> =>
    page.evaluate(async (wanted) => {
      const found: number[] = [];
      for await (const note of window.test.server.traces()) {
        if (note.kind !== "trace") throw new Error(`a note '${note.kind}'`);
        found.push(note.trace.id);
        if (found.length === wanted) break;
      }
      return found;
    }, count);

  const early = ids(other, 2);
  for (const page of [blank, other]) {
    expect((await inferJson(page, "ensemble_chain", FEATURES)).status).toBe(200);
  }
  // A trace has as many ids as requests: those of the ensemble and of its two steps.
  expect(await early).toEqual([1, 4]);
  expect(await Promise.all([ids(blank, 2), ids(other, 2), ids(other, 1)])).toEqual([[1, 4], [1, 4], [1]]);

  const toTheEnd = await other.evaluate(async () => {
    const { server } = window.test;
    const found: number[] = [];
    let stopped: Promise<void> | undefined;
    for await (const note of server.traces()) {
      if (note.kind === "trace") found.push(note.trace.id);
      if (found.length === 2) stopped ??= server.stop();
    }
    await stopped;
    return found;
  });
  expect(toTheEnd).toEqual([1, 4]);
  expect(await ids(blank, 2)).toEqual([1, 4]);
});

test("naiad serve writes Triton's trace file", async () => {
  test.setTimeout(90_000);
  const folder = await mkdtemp(join(tmpdir(), "naiad-traces-"));
  const repository = join(folder, "models");
  for (const name of ["ensemble_chain", "batcher", "classifier"]) {
    await cp(join(ROOT, "public/models", name), join(repository, name), { recursive: true });
  }
  const file = join(folder, "trace.json");
  const browser = findBrowser();
  const command = spawn(
    process.execPath,
    [
      ...["packages/naiad/bin/naiad.js", "serve", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
      ...["--model-repository", repository, `--trace-config=triton,file=${file}`],
      ...["--trace-config=level=TIMESTAMPS", "--trace-config=rate=1"],
      // Chromium's sandbox does not start as root in a container.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
    {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...(browser !== undefined && { NAIAD_BROWSER: browser }) },
    },
  );
  try {
    let log = "";
    command.stderr.on("data", (text: Buffer) => (log += text.toString()));
    const exited = new Promise<number | null>((resolve) => command.once("exit", resolve));
    const at = (): string | undefined => /Started HTTPService at (127\.0\.0\.1:\d+)/.exec(log)?.[1];
    await expect.poll(at, { timeout: 60_000, message: "started" }).toBeDefined();
    const body = JSON.stringify({ inputs: FEATURES });
    const infer = (): Promise<Response> =>
      fetch(`http://${at() ?? ""}/v2/models/ensemble_chain/infer`, { method: "POST", body });
    expect((await infer()).status).toBe(200);
    // The file is a list at any time, not only at the end.
    const written = async (): Promise<readonly string[]> => read(await readFile(file, "utf8")).models;
    await expect.poll(() => written().catch(() => [])).toEqual(CHAIN);
    expect((await infer()).status).toBe(200);
    command.kill("SIGTERM");
    expect(await exited).toBe(0);
    expect(await written()).toEqual([...CHAIN, ...CHAIN]);
  } finally {
    command.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
});
