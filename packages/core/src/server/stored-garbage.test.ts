import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel, memoryStoreLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const { signal } = new AbortController();
const CONFIG = JSON.stringify({
  backend: "fake",
  max_batch_size: 4,
  input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
  output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
});

function cleaningBench(options: ServerBenchOptions = {}): ServerBench {
  return createServerBench({ storeLocks: memoryStoreLocks(), ...options });
}

function upload(bench: ServerBench, modelName: string, content: string): Promise<unknown> {
  const files = { "1/w": new TextEncoder().encode(content) };
  return bench.server.repositoryModelLoad({ modelName, config: CONFIG, files }, { signal });
}

/** Texts of all stored files, once the server has had the time to look through them. */
async function storedTexts(bench: ServerBench): Promise<readonly string[]> {
  for (let round = 0; round < 3; round += 1) {
    await bench.clock.settle();
    await bench.clock.advance(1e9);
  }
  const files = await bench.store.files();
  const texts = files.map(async ({ chunks }) => {
    const bytes = await Promise.all(chunks.map((chunk) => bench.store.getChunk(chunk)));
    return bytes.map((one) => new TextDecoder().decode(one)).join("");
  });
  return (await Promise.all(texts)).filter((text) => !text.includes("backend")).sort();
}

describe("files in the store", () => {
  it("go when their model was replaced by another version of itself", async () => {
    const bench = cleaningBench({ models: { m: { ...echoModel(), "1/model.fake": "old" } } });
    await bench.start();
    await bench.load("m");
    expect(await storedTexts(bench)).toEqual(["old"]);
    bench.repository.put("m", { ...echoModel(), "1/model.fake": "new" });
    await bench.load("m");
    expect(await storedTexts(bench)).toEqual(["new"]);
    expect(bench.logger.lines).toContainEqual({
      level: "info",
      message: "removed 1 file from the store that no model needs: 3 bytes",
    });
  });

  it("stay when a model of the repository is unloaded, and go when a poll finds it gone", async () => {
    const kept = cleaningBench({ models: { m: { ...echoModel(), "1/model.fake": "m" } } });
    await kept.start();
    await kept.load("m");
    await kept.unload("m");
    expect(await storedTexts(kept)).toEqual(["m"]);

    const polling = cleaningBench({
      models: { m: { ...echoModel(), "1/model.fake": "m" } },
      options: { modelControlMode: "poll", repositoryPollSecs: 1 },
    });
    await polling.start();
    expect(await storedTexts(polling)).toEqual(["m"]);
    polling.repository.remove("m");
    expect(await storedTexts(polling)).toEqual([]);
  });

  it("that were uploaded stay as long as they are served", async () => {
    const bench = cleaningBench();
    await bench.start();
    await upload(bench, "m", "first");
    expect(await storedTexts(bench)).toEqual(["first"]);
    await upload(bench, "m", "second");
    expect(await storedTexts(bench)).toEqual(["second"]);
    await bench.unload("m");
    expect(await storedTexts(bench)).toEqual([]);
  });

  it("stay until the last accepted request of the model is answered", async () => {
    const bench = cleaningBench({ backend: { latencyNs: 60e9 } });
    await bench.start();
    await upload(bench, "m", "weights");
    const answer = bench.infer("m", 5);
    await bench.unload("m");
    expect(await storedTexts(bench)).toEqual(["weights"]);
    await bench.clock.advance(60e9);
    expect(echoedValue(await answer)).toBe(5);
    expect(await storedTexts(bench)).toEqual([]);
  });

  it("stay when a repository cannot be read", async () => {
    const bench = cleaningBench({ models: { m: { ...echoModel(), "1/model.fake": "m" } } });
    await bench.start();
    await bench.load("m");
    bench.repository.failWith(new Error("offline"));
    await expect(bench.load("other")).rejects.toThrow("offline");
    await upload(bench, "up", "x");
    await bench.unload("up");
    expect(await storedTexts(bench)).toEqual(["m", "x"]);
  });

  it("stay when a successor is to have them", async () => {
    const first = cleaningBench();
    await first.start();
    await upload(first, "m", "weights");
    const files = first.server.servedModels().flatMap((origin) => origin.files ?? []);
    const bench = cleaningBench({ store: first.store, keptFiles: () => Promise.resolve(files) });
    await bench.start();
    expect(await storedTexts(bench)).toEqual(["weights"]);
  });

  it("stay when a server in another tab uses them, which this one knows nothing of", async () => {
    const storeLocks = memoryStoreLocks();
    const other = cleaningBench({ storeLocks });
    const bench = cleaningBench({ storeLocks, store: other.store });
    await other.start();
    await upload(other, "theirs", "theirs");
    await bench.start();
    await upload(bench, "ours", "ours");
    await bench.unload("ours");
    expect(await storedTexts(bench)).toEqual(["theirs"]);
    await other.unload("theirs");
    expect(await storedTexts(other)).toEqual([]);
  });

  it("all stay while some server brings files in", async () => {
    const storeLocks = memoryStoreLocks();
    const bench = cleaningBench({ storeLocks });
    await bench.start();
    await bench.store.putChunk("a".repeat(64), new TextEncoder().encode("left over"));
    await bench.store.putFile({ sha256: "b".repeat(64), size: 9, chunks: ["a".repeat(64)] });
    const release = await storeLocks.hold("writing", signal);
    expect(await storedTexts(bench)).toEqual(["left over"]);
    release();
    await upload(bench, "m", "weights");
    expect(await storedTexts(bench)).toEqual(["weights"]);
  });

  it("that cannot be removed are told of, and the server goes on", async () => {
    const bench = cleaningBench();
    const failing = cleaningBench({
      store: { ...bench.store, files: () => Promise.reject(new Error("the disk is broken")) },
    });
    await failing.start();
    await failing.clock.advance(1e9);
    await failing.clock.settle();
    expect(failing.logger.lines).toContainEqual({
      level: "warning",
      message: "stored files that are not needed any more could not be removed: the disk is broken",
    });
    await upload(failing, "m", "weights");
    expect(echoedValue(await failing.infer("m", 3))).toBe(3);
  });
});
