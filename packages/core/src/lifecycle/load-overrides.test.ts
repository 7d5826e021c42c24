import type { FileStore } from "../ports.ts";
import { InferenceError } from "@naiad/protocol";
import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { configJson } from "../../test/load-request.ts";
import { createMemoryFileStore } from "../repository/memory-file-store.ts";

const { signal } = new AbortController();
const SEVEN_ROWS = configJson({ max_batch_size: 7 });

function upload(
  bench: ServerBench,
  modelName: string,
  files: Readonly<Record<string, string>>,
  config = SEVEN_ROWS,
): Promise<unknown> {
  const bytes = Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)] as const);
  const request = { modelName, config, files: Object.fromEntries(bytes) };
  return bench.server.repositoryModelLoad(request, { signal });
}

async function maxBatchSize(bench: ServerBench, modelName: string): Promise<unknown> {
  return (await bench.server.modelConfig({ modelName, modelVersion: "" }, { signal }))["max_batch_size"];
}

/** A bench whose model files are read by the fake backend, as `path=content`. */
function readingBench(options: ServerBenchOptions = {}): { bench: ServerBench; seen: string[] } {
  const seen: string[] = [];
  const bench = createServerBench({
    ...options,
    prepare: async ({ config, files }) => {
      for (const { path } of files.entries) {
        seen.push(`${path}=${new TextDecoder().decode(await files.read(path))}`);
      }
      return config;
    },
  });
  return { bench, seen };
}

/** The server that comes after `bench`, over the same store and repository content. */
async function successorOf(
  bench: ServerBench,
  options: ServerBenchOptions = {},
): Promise<{ bench: ServerBench; seen: string[] }> {
  const next = readingBench({ ...options, store: bench.store, inherited: bench.server.servedModels() });
  await next.bench.start();
  return next;
}

describe("what a server serves", () => {
  it("is told with what came in load requests", async () => {
    const bench = createServerBench({ models: { plain: echoModel(), changed: echoModel() } });
    await bench.start();
    await bench.load("plain");
    await bench.load("changed", SEVEN_ROWS);
    await upload(bench, "up", { "1/w": "weights", "labels.txt": "cat" });
    const [changed, plain, up] = bench.server.servedModels();
    expect(plain).toEqual({ modelName: "plain" });
    expect(changed).toEqual({ modelName: "changed", config: SEVEN_ROWS });
    expect(up).toMatchObject({ modelName: "up", config: SEVEN_ROWS });
    expect(up?.files?.map(({ path, size }) => [path, size])).toEqual([
      ["1/w", 7],
      ["labels.txt", 3],
    ]);
    await bench.load("changed");
    await bench.unload("up");
    expect(bench.server.servedModels()).toEqual([{ modelName: "changed" }, { modelName: "plain" }]);
  });

  it("is already told when the model's state is", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    const told: unknown[] = [];
    bench.server.subscribe((event) => {
      if (event.kind === "model" && event.state === "READY") told.push(...bench.server.servedModels());
    });
    await bench.load("m");
    await bench.load("m", SEVEN_ROWS);
    expect(told).toEqual([{ modelName: "m" }, { modelName: "m", config: SEVEN_ROWS }]);
  });

  it("stays what it was when an override fails", async () => {
    let isBroken = false;
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: {
        onCreate: () =>
          isBroken ? { kind: "fail", error: new InferenceError("INTERNAL", "broken") } : { kind: "create" },
      },
    });
    await bench.start();
    await bench.load("m", SEVEN_ROWS);
    isBroken = true;
    await expect(bench.load("m")).rejects.toThrow("Internal: broken");
    await expect(upload(bench, "m", { "1/w": "" })).rejects.toThrow("Internal: broken");
    await expect(upload(bench, "m", { "../w": "" })).rejects.toThrow("must stay within model directory");
    expect(bench.server.servedModels()).toEqual([{ modelName: "m", config: SEVEN_ROWS }]);
    expect(await maxBatchSize(bench, "m")).toBe(7);
  });
});

describe("a server that takes over", () => {
  it("goes on with configurations and files of load requests, and not with its own list", async () => {
    const models = { changed: echoModel(), other: echoModel() };
    const first = createServerBench({ models });
    await first.start();
    await first.load("changed", SEVEN_ROWS);
    await upload(first, "up", { "1/w": "weights" }, configJson({ max_batch_size: 5 }));
    const { bench, seen } = await successorOf(first, { models, options: { loadModels: ["other"] } });
    expect(await bench.index()).toEqual(["changed:1 READY", "other"]);
    expect(await maxBatchSize(bench, "changed")).toBe(7);
    expect(await maxBatchSize(bench, "up")).toBe(5);
    expect(seen).toContain("1/w=weights");
    expect(echoedValue(await bench.infer("up", 3))).toBe(3);
    expect(bench.server.servedModels()).toEqual(first.server.servedModels());
  });

  it("goes back to the repository with the next plain load", async () => {
    const models = { m: echoModel() };
    const first = createServerBench({ models });
    await first.start();
    await upload(first, "m", { "1/w": "mine", "3/w": "mine too" });
    const { bench } = await successorOf(first, { models });
    expect(await bench.index()).toEqual(["m:3 READY"]);
    await bench.load("m");
    await bench.clock.settle();
    expect(await bench.index()).toEqual(["m:1 READY", "m:3 UNAVAILABLE unloaded"]);
    expect(await maxBatchSize(bench, "m")).toBe(4);
    expect(bench.server.servedModels()).toEqual([{ modelName: "m" }]);
  });

  it("serves the rest where uploaded files are not stored any more", async () => {
    const models = { m: echoModel() };
    const first = createServerBench({ models });
    await first.start();
    await upload(first, "up", { "1/w": "weights" });
    await first.load("m");
    for (const { sha256 } of await first.store.files()) await first.store.deleteFile(sha256);
    const { bench } = await successorOf(first, { models, options: { exitOnError: false } });
    expect(await bench.index()).toEqual(["m:1 READY"]);
    expect(bench.logger.lines.map(({ message }) => message).join("\n")).toContain(
      "Not found: file '1/w' of model 'up' came with a load request and is not stored any more: load the model with its " +
        "files again",
    );
  });
});

describe("uploaded files", () => {
  it("are all that the model has: nothing comes from the repository", async () => {
    const { bench, seen } = readingBench({ models: { m: { ...echoModel(), "labels.txt": "repository's" } } });
    await bench.start();
    await upload(bench, "m", { "./1/../1/w": "mine" });
    expect(seen).toEqual(["1/w=mine"]);
    const labelled = configJson({
      output: [{ name: "y", data_type: "TYPE_INT32", dims: [1], label_filename: "labels.txt" }],
    });
    await expect(upload(bench, "m", { "1/w": "mine" }, labelled)).rejects.toThrow("labels.txt");
    await upload(bench, "m", { "1/w": "mine", "labels.txt": "mine too" }, labelled);
  });

  it("serve as many versions as they have directories", async () => {
    const { bench, seen } = readingBench();
    await bench.start();
    await upload(
      bench,
      "up",
      { "1/w": "one", "2/w": "two", shared: "all" },
      configJson({ version_policy: { all: {} } }),
    );
    expect([...seen].sort()).toEqual(["1/w=one", "2/w=two", "shared=all", "shared=all"]);
    expect(bench.server.instances().map(({ version }) => version)).toEqual(["1", "2"]);
  });

  it("stay in memory where the store is full, with a warning", async () => {
    const store: FileStore = {
      ...createMemoryFileStore(),
      location: { kind: "indexeddb", name: "full" },
      putChunk: () => Promise.reject(new InferenceError("UNAVAILABLE", "no room")),
    };
    const locations: unknown[] = [];
    const bench = createServerBench({
      store,
      prepare: ({ config, files }) => {
        locations.push(files.location);
        return Promise.resolve(config);
      },
    });
    await bench.start();
    await upload(bench, "up", { "1/w": "weights" });
    expect(locations).toEqual([{ kind: "memory" }]);
    expect(bench.logger.lines).toContainEqual({
      level: "warning",
      message: "uploaded files of model 'up' stay in memory only: no room",
    });
    expect(echoedValue(await bench.infer("up", 2))).toBe(2);
  });
});
