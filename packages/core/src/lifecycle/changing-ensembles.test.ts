import { echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { chain, errors, SMALL, startBench, TWO } from "../../test/ensemble-bench.ts";

const signal = new AbortController().signal;

describe("an ensemble whose models change", () => {
  it("is loaded with them again, and never out of service meanwhile", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", { ...echoModel([2]), "2/model.fake": "another" });
    const seen: string[] = [];
    bench.server.subscribe((event) => {
      if (event.kind === "model" && event.modelName === "e") seen.push(event.state);
    });
    await bench.load("b");
    expect(seen).toEqual(["READY"]);
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("is not loaded again when one of them was looked at and has not changed", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    await bench.infer("e", 7);
    await bench.load("b");
    const { model_stats: stats } = await bench.server.modelStatistics(
      { modelName: "e", modelVersion: "" },
      { signal },
    );
    expect(stats[0]?.inference_count).toBe(1);
  });

  it("is taken out of service when one does not fit any more", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", SMALL);
    await bench.load("b");
    const reason =
      "ensemble e allows maximum batch size 4, but it contains model b which only allows maximum batch size to be 2";
    const index = ["a:1 READY", "b:1 READY", `e:1 UNAVAILABLE Invalid argument: ${reason}`];
    expect(await bench.index()).toEqual(index);
    expect(errors(bench)).toEqual([`load failed for model 'e': ${reason}`]);
    expect(await bench.server.serverReady({}, { signal })).toEqual({ ready: false });
    // It is not what was loaded that is told of again.
    bench.repository.put("a", { ...echoModel(), "1/model.fake": "another" });
    await bench.load("a");
    expect(await bench.index()).toEqual(index);
    expect(errors(bench)).toHaveLength(1);
    bench.repository.put("b", echoModel());
    await bench.load("b");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("shows why while it still answers, when one does not fit any more", async () => {
    const bench = await startBench(TWO, { backend: { latencyNs: 1e6 } });
    await bench.load("e");
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    bench.repository.put("b", SMALL);
    await bench.load("b");
    expect((await bench.index())[2]).toContain("e:1 UNLOADING Invalid argument: ensemble e allows");
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect((await bench.index())[2]).toContain("e:1 UNAVAILABLE Invalid argument: ensemble e allows");
  });

  it("counts as unloaded with several of them, also while it still answers", async () => {
    const bench = await startBench(TWO, { backend: { latencyNs: 1e6 } });
    await bench.load("e");
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.unload("a");
    await bench.unload("b");
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect(await bench.index()).toContain("e:1 UNAVAILABLE unloaded");
  });

  it("tells once of an error that it has with every load of them", async () => {
    const decoupled = echoModel([1], "model_transaction_policy { decoupled: true }");
    const bench = await startBench({
      a: decoupled,
      b: echoModel(),
      e: chain(["a", "b"], "response_cache { enable: true }"),
    });
    await expect(bench.load("e")).rejects.toThrow("Response Cache does not currently support");
    for (const content of ["second", "third"]) {
      bench.repository.put("a", { ...decoupled, "1/model.fake": content });
      await bench.load("a");
    }
    expect(errors(bench).filter((message) => message.includes("model 'e'"))).toHaveLength(1);
    // Once it was served, the same error is news.
    bench.repository.put("a", echoModel());
    await bench.load("a");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
    bench.repository.put("a", decoupled);
    await bench.load("a");
    expect(errors(bench).filter((message) => message.includes("model 'e'"))).toHaveLength(2);
    expect((await bench.index())[2]).toContain(
      "e:1 UNAVAILABLE Invalid argument: version 1 is at UNAVAILABLE state",
    );
  });

  it("stays as it is when it is loaded itself with a configuration that fails", async () => {
    const bench = await startBench({
      ...TWO,
      d: echoModel([1], "model_transaction_policy { decoupled: true }"),
    });
    await bench.load("e");
    bench.repository.put("e", chain(["a", "d"], "response_cache { enable: true }"));
    await expect(bench.load("e")).rejects.toThrow("Response Cache does not currently support");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("stays as it is when the load of one fails", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", { ...echoModel(), "config.pbtxt": 'backend: "absent"' });
    await expect(bench.load("b")).rejects.toThrow("absent");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("goes when one is unloaded, and comes back with it", async () => {
    const bench = await startBench({ ...TWO, outer: chain(["e"]) });
    await bench.load("outer");
    await bench.unload("a");
    expect(await bench.index()).toEqual([
      "a:1 UNAVAILABLE unloaded",
      "b:1 READY",
      "e:1 UNAVAILABLE unloaded",
      "outer:1 UNAVAILABLE unloaded",
    ]);
    expect(errors(bench)).toEqual([
      "load failed for model 'e': ensemble e contains models that are not available or ambiguous: a",
      "load failed for model 'outer': ensemble 'outer' depends on 'e' which is not valid. Model 'e' failed with error: " +
        "ensemble e contains models that are not available or ambiguous: a",
    ]);
    await bench.load("a");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY", "outer:1 READY"]);
  });

  it("does not come back once it was unloaded itself", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    await bench.unload("a");
    await bench.unload("e");
    await bench.load("a");
    expect(await bench.index()).toContain("e:1 UNAVAILABLE unloaded");
  });

  it("is loaded as soon as the model is that it waited for", async () => {
    const bench = await startBench({ a: echoModel(), e: chain(["a", "b"]) });
    await expect(bench.load("e")).rejects.toThrow("not available or ambiguous: b");
    bench.repository.put("b", echoModel());
    await bench.load("b");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
  });
});

it("a request without a sequence is done again behind an ensemble in an ensemble, where a worker ended beside it", async () => {
  let losses = 0;
  const bench = await startBench(
    { ...TWO, inner: chain(["a"]), outer: chain(["inner", "b"]) },
    {
      backend: {
        keepsState: true,
        onExecute: ({ instanceName }) =>
          instanceName.startsWith("b") && (losses += 1) === 1
            ? { kind: "lose", culprit: false }
            : { kind: "complete" },
      },
    },
  );
  await bench.load("outer");
  const answer = bench.infer("outer", 7);
  await bench.finish();
  expect(echoedValue(await answer)).toBe(7);
  expect(losses).toBe(2);
});
