import { InferenceError } from "@naiad/protocol";
import type { ServerBench } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const { signal } = new AbortController();

function groups(...groupsText: readonly string[]): string {
  return groupsText.map((text) => `instance_group { ${text} }`).join(" ");
}

const cpu = (count: number): string => groups(`kind: KIND_CPU count: ${String(count)}`);

function configJson(count: number, changes: object = {}): string {
  return JSON.stringify({
    backend: "fake",
    max_batch_size: 4,
    input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
    output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
    instance_group: [{ kind: "KIND_CPU", count }],
    ...changes,
  });
}

/** A server with the model `m` loaded, which has one instance. */
async function serving(options: Parameters<typeof createServerBench>[0] = {}): Promise<ServerBench> {
  const bench = createServerBench({ models: { m: echoModel([1], cpu(1)) }, ...options });
  await bench.start();
  await bench.load("m");
  return bench;
}

function names(bench: ServerBench): readonly string[] {
  return bench.server.instances().map(({ instanceName }) => instanceName);
}

async function inferenceCount(bench: ServerBench): Promise<number | undefined> {
  const { model_stats } = await bench.server.modelStatistics(
    { modelName: "m", modelVersion: "" },
    { signal },
  );
  return model_stats[0]?.inference_count;
}

async function shownGroups(bench: ServerBench): Promise<unknown> {
  return (await bench.server.modelConfig({ modelName: "m", modelVersion: "" }, { signal }))["instance_group"];
}

describe("a change of instance groups alone", () => {
  it("adds the instances that are missing, and nothing begins anew", async () => {
    const bench = await serving();
    await bench.infer("m", 1);
    const reads = bench.repository.reads.length;
    bench.repository.put("m", echoModel([1], cpu(3)));
    await bench.load("m");
    expect(names(bench)).toEqual(["m_0_0", "m_0_1", "m_0_2"]);
    expect(bench.backend.creationCount).toBe(3);
    expect(await inferenceCount(bench)).toBe(1);
    expect(await shownGroups(bench)).toMatchObject([{ count: 3 }]);
    // Only the configuration was read again.
    expect(bench.repository.reads.slice(reads)).toEqual(["m/config.pbtxt"]);
    expect(bench.events.flatMap((event) => (event.kind === "model" ? [event.state] : []))).toEqual([
      "LOADING",
      "READY",
      "READY",
    ]);
  });

  it("frees those that are too many, when they have finished what they execute", async () => {
    const bench = await serving({
      models: { m: echoModel([1], cpu(2)) },
      backend: { latencyNs: 10 * MS },
    });
    const answers = [1, 2].map((value) => bench.infer("m", value).then(echoedValue));
    await bench.until(() => bench.backend.runningCount === 2);
    bench.repository.put("m", echoModel([1], cpu(1)));
    await bench.load("m");
    expect(names(bench)).toEqual(["m_0_0"]);
    expect(bench.liveInstances).toBe(2);
    await bench.clock.advance(10 * MS);
    expect(await Promise.all(answers)).toEqual([1, 2]);
    expect(bench.liveInstances).toBe(1);
    const later = [3, 4, 5].map((value) => bench.infer("m", value).then(echoedValue));
    await bench.clock.advance(30 * MS);
    expect(await Promise.all(later)).toEqual([3, 4, 5]);
    expect(new Set(bench.backend.executions.slice(2).map(({ instanceName }) => instanceName))).toEqual(
      new Set(["m_0_0"]),
    );
  });

  it("makes new instances useful for the batcher at once", async () => {
    const bench = await serving({
      models: { m: echoModel([1], `dynamic_batching {} ${cpu(1)}`) },
      backend: { latencyNs: 10 * MS },
    });
    const running = bench.infer("m", 1).then(echoedValue);
    await bench.until(() => bench.backend.runningCount === 1);
    const waiting = bench.infer("m", 2).then(echoedValue);
    bench.repository.put("m", echoModel([1], `dynamic_batching {} ${cpu(2)}`));
    await bench.load("m");
    await bench.clock.settle();
    expect(bench.backend.runningCount).toBe(2);
    await bench.clock.advance(10 * MS);
    expect(await Promise.all([running, waiting])).toEqual([1, 2]);
  });

  it("is made without a gap: requests go on while new instances are made", async () => {
    let latencyNs = 0;
    const bench = await serving({ backend: { onCreate: () => ({ kind: "create", latencyNs }) } });
    latencyNs = 50 * MS;
    bench.repository.put("m", echoModel([1], cpu(2)));
    const loading = bench.load("m");
    await bench.until(() => bench.backend.creationCount === 2);
    expect(echoedValue(await bench.infer("m", 7))).toBe(7);
    expect(names(bench)).toEqual(["m_0_0"]);
    await bench.clock.advance(50 * MS);
    await loading;
    expect(names(bench)).toEqual(["m_0_0", "m_0_1"]);
  });

  it("that cannot be made leaves everything as it is", async () => {
    let creations = 0;
    const bench = await serving({
      backend: {
        onCreate: () => {
          creations += 1;
          return creations === 3
            ? { kind: "fail", error: new InferenceError("INTERNAL", "no memory") }
            : { kind: "create" };
        },
      },
    });
    bench.repository.put("m", echoModel([1], cpu(3)));
    await expect(bench.load("m")).rejects.toThrow(
      "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: no memory;\n",
    );
    await bench.clock.settle();
    expect(names(bench)).toEqual(["m_0_0"]);
    expect(bench.liveInstances).toBe(1);
    expect(await bench.index()).toEqual(["m:1 READY"]);
    expect(await shownGroups(bench)).toMatchObject([{ count: 1 }]);
    // And may be tried again.
    await bench.load("m");
    expect(names(bench)).toEqual(["m_0_0", "m_0_1", "m_0_2"]);
  });

  it("that this machine cannot have is refused", async () => {
    const bench = await serving({ options: { gpuFallback: "error" } });
    bench.repository.put("m", echoModel([1], groups("kind: KIND_GPU")));
    await expect(bench.load("m")).rejects.toThrow("has kind KIND_GPU but no GPUs are available");
    expect(names(bench)).toEqual(["m_0_0"]);
  });

  it("may come with a load request, with a poll, and with the way back", async () => {
    const bench = await serving();
    await bench.load("m", configJson(2));
    expect(names(bench)).toEqual(["m_0_0", "m_0_1"]);
    expect(bench.server.servedModels()).toEqual([{ modelName: "m", config: configJson(2) }]);
    await bench.load("m");
    expect(names(bench)).toEqual(["m_0_0"]);
    expect(bench.backend.creationCount).toBe(2);

    const polling = await createPolling();
    polling.repository.put("m", echoModel([1], cpu(2)));
    await polling.clock.advance(1000 * MS);
    expect(names(polling)).toEqual(["m_0_0", "m_0_1"]);
    expect(polling.backend.creationCount).toBe(2);
  });

  async function createPolling(): Promise<ServerBench> {
    const bench = createServerBench({
      models: { m: echoModel([1], cpu(1)) },
      options: { modelControlMode: "poll", repositoryPollSecs: 1 },
    });
    await bench.start();
    return bench;
  }

  it("gives groups of other names other instances", async () => {
    const bench = await serving();
    bench.repository.put("m", echoModel([1], groups('name: "a" kind: KIND_CPU', 'name: "b" kind: KIND_CPU')));
    await bench.load("m");
    await bench.clock.settle();
    expect(names(bench)).toEqual(["a_0", "b_0"]);
    expect(bench.liveInstances).toBe(2);
    expect(echoedValue(await bench.infer("m", 5))).toBe(5);
  });

  it("warms the new instances up, and them alone", async () => {
    const warmUp = `model_warmup { name: "s" batch_size: 1
      inputs { key: "x" value { data_type: TYPE_INT32 dims: 1 zero_data: true } } }`;
    const bench = await serving({ models: { m: echoModel([1], `${cpu(1)} ${warmUp}`) } });
    bench.repository.put("m", echoModel([1], `${cpu(2)} ${warmUp}`));
    await bench.load("m");
    expect(bench.backend.executions.map(({ instanceName }) => instanceName)).toEqual(["m_0_0", "m_0_1"]);
  });

  it("is answered by an unload and a stop like any other load", async () => {
    const bench = await serving();
    bench.repository.put("m", echoModel([1], cpu(2)));
    await bench.load("m");
    await bench.unload("m");
    await bench.clock.settle();
    expect(bench.liveInstances).toBe(0);
    expect(await bench.index()).toEqual(["m:1 UNAVAILABLE unloaded"]);
    await bench.load("m");
    await bench.server.stop();
    expect(bench.liveInstances).toBe(0);
  });
});

describe("a change that leaves some versions as they are", () => {
  const policy = (text: string): string => `${cpu(1)} version_policy { ${text} }`;

  it.each([
    ["another policy", echoModel([1, 2], policy("all {}")), ["1", "2"]],
    ["another version", echoModel([1, 2, 3], policy("latest { num_versions: 2 }")), ["2", "3"]],
  ])("keeps those: %s", async (_what, changed, versions) => {
    const bench = createServerBench({
      models: { m: echoModel([1, 2], policy("latest { num_versions: 2 }")) },
    });
    await bench.start();
    await bench.load("m");
    const before = bench.backend.creationCount;
    bench.repository.put("m", changed);
    await bench.load("m");
    await bench.clock.settle();
    expect(bench.server.instances().map(({ version }) => version)).toEqual(versions);
    expect(bench.backend.creationCount).toBe(before + (versions.includes("3") ? 1 : 0));
    expect(bench.liveInstances).toBe(2);
  });

  it.each([
    ["a file of the version", { ...echoModel([1], cpu(1)), "1/model.fake": "other" }],
    ["a file of all versions", { ...echoModel([1], cpu(1)), "labels.txt": "new" }],
    ["the rest of the configuration", echoModel([1], `${cpu(1)} dynamic_batching {}`)],
    ["instance groups and a file", { ...echoModel([1], cpu(2)), "1/model.fake": "other" }],
  ])("is none where there is a change of %s", async (_what, changed) => {
    const bench = await serving();
    await bench.infer("m", 1);
    bench.repository.put("m", changed);
    await bench.load("m");
    await bench.clock.settle();
    const { length } = bench.server.instances();
    expect(bench.backend.creationCount).toBe(1 + length);
    expect(bench.liveInstances).toBe(length);
    expect(await inferenceCount(bench)).toBe(0);
  });
});
