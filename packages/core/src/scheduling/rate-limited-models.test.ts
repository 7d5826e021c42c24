import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel, echoRequest } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1e6;

/** Configuration of one instance with a `rate_limiter`. */
function limited(rateLimiter: string, more = ""): string {
  return `instance_group { count: 1 kind: KIND_CPU rate_limiter { ${rateLimiter} } } ${more}`;
}

const ONE_GPU = 'resources { name: "gpu" count: 1 }';

async function start(
  configs: Readonly<Record<string, string>>,
  options: ServerBenchOptions["options"] = {},
): Promise<ServerBench> {
  const models = Object.fromEntries(
    Object.entries(configs).map(([name, config]) => [name, echoModel([1], config)]),
  );
  const bench = createServerBench({
    models,
    options: { rateLimit: "execution_count", loadModels: ["*"], ...options },
    backend: { latencyNs: MS },
  });
  await bench.start();
  return bench;
}

/** `count` requests to each, all at once; gives the texts of what failed. */
function flood(bench: ServerBench, modelNames: readonly string[], count: number): Promise<readonly string[]> {
  const texts: string[] = [];
  const answers = modelNames.flatMap((modelName) =>
    Array.from({ length: count }, async (_, value) => {
      await bench
        .infer(modelName, value, { signal: new AbortController().signal })
        .catch((thrown: unknown) => texts.push(String(thrown)));
    }),
  );
  return Promise.all(answers).then(() => texts);
}

/** Names of the models in the order of their executions. */
function order({ backend }: ServerBench): readonly string[] {
  return backend.executions.map(({ instanceName }) => instanceName.replace("_0_0", ""));
}

function startTimesMs({ backend }: ServerBench): readonly number[] {
  return backend.executions.map(({ startNs }) => startNs / MS);
}

describe("models that share a resource", () => {
  it("execute one after the other, in turns", async () => {
    const bench = await start({ a: limited(ONE_GPU), b: limited(ONE_GPU) });
    const done = flood(bench, ["a", "b"], 3);
    await bench.finish();
    expect(await done).toEqual([]);
    expect(order(bench)).toEqual(["a", "b", "a", "b", "a", "b"]);
    expect(startTimesMs(bench)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("do not wait for each other with the rate limiter off", async () => {
    const bench = await start({ a: limited(ONE_GPU), b: limited(ONE_GPU) }, { rateLimit: "off" });
    const done = flood(bench, ["a", "b"], 3);
    await bench.finish();
    await done;
    expect(startTimesMs(bench)).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it("execute side by side where there are units for both", async () => {
    const bench = await start(
      { a: limited('resources { name: "r" count: 4 }'), b: limited('resources { name: "r" count: 2 }') },
      { rateLimitResources: [{ name: "r", count: 6 }] },
    );
    const done = flood(bench, ["a", "b"], 3);
    await bench.finish();
    await done;
    expect(startTimesMs(bench)).toEqual([0, 0, 1, 1, 2, 2]);
  });

  it("have the largest need as the size of the pool where none is given, and priorities 1 and 2 give 2 to 1", async () => {
    const bench = await start({
      a: limited('resources { name: "r" count: 4 }'),
      b: limited('resources [ { name: "r" count: 2 }, { name: "s" global: true count: 2 } ] priority: 2'),
    });
    const done = flood(bench, ["a", "b"], 60);
    await bench.clock.advance(59.5 * MS);
    expect(bench.backend.executions).toHaveLength(60);
    expect(order(bench).filter((name) => name === "a")).toHaveLength(40);
    await bench.finish();
    expect(await done).toEqual([]);
  });

  it("go on when one of them dies or hangs with the resource in its hands", async () => {
    const models = { a: echoModel([1], limited(ONE_GPU)), b: echoModel([1], limited(ONE_GPU)) };
    const bench = createServerBench({
      models,
      options: { rateLimit: "execution_count", loadModels: ["*"] },
      backend: {
        latencyNs: MS,
        onExecute: ({ instanceName, generation }) =>
          instanceName === "a_0_0" && generation === 0 ? { kind: "hang" } : { kind: "complete" },
      },
    });
    await bench.start();
    const done = flood(bench, ["a", "b"], 2);
    await bench.clock.advance(5 * MS);
    expect(order(bench)).toEqual(["a"]);
    bench.backend.lose("a_0_0");
    await bench.finish();
    expect(await done).toEqual([]);
    expect(order(bench).filter((name) => name === "b")).toHaveLength(2);
  });

  it("give it back when they are unloaded, after what they accepted", async () => {
    const bench = await start({
      a: limited('resources { name: "r" count: 2 }'),
      b: limited('resources { name: "r" count: 1 }'),
    });
    const done = flood(bench, ["a", "b"], 2);
    await bench.unload("a");
    await bench.finish();
    expect(await done).toEqual([]);
    expect(order(bench)).toEqual(["a", "b", "a", "b"]);
    const again = flood(bench, ["b"], 2);
    await bench.finish();
    expect(await again).toEqual([]);
  });

  it("keep to other limits as soon as the instance groups have changed", async () => {
    const bench = await start({ a: limited(ONE_GPU), b: limited(ONE_GPU) });
    bench.repository.put("b", echoModel([1], limited('resources { name: "other" count: 1 }')));
    await bench.load("b");
    const done = flood(bench, ["a", "b"], 2);
    await bench.finish();
    expect(await done).toEqual([]);
    expect(startTimesMs(bench)).toEqual([0, 0, 1, 1]);
    expect(bench.backend.creationCount).toBe(2);
  });
});

describe("sequences", () => {
  it("stay with their instance while another of the model could execute sooner", async () => {
    const group = (units: number): string =>
      `instance_group { count: 1 kind: KIND_CPU rate_limiter { resources { name: "gpu" count: ${units} } } }`;
    const bench = await start({ s: `sequence_batching { } ${group(2)} ${group(1)}`, b: limited(ONE_GPU) });
    const other = flood(bench, ["b"], 8);
    const values: (number | undefined)[] = [];
    const steps = Array.from({ length: 5 }, async (_, index) => {
      const request = echoRequest("s", index);
      const sequence = { id: 7n, start: index === 0, end: index === 4 };
      const { signal } = new AbortController();
      values.push(echoedValue(await bench.server.modelInfer({ ...request, sequence }, { signal })));
    });
    await bench.finish();
    await Promise.all(steps);
    expect(await other).toEqual([]);
    expect(values).toEqual([0, 1, 2, 3, 4]);
    const used = bench.backend.executions.map(({ instanceName }) => instanceName);
    expect(used.filter((name) => name === "s_0_0")).toHaveLength(5);
    expect(used).not.toContain("s_1_0");
  });
});

describe("batches", () => {
  it("stay open until the turn of their instance has come", async () => {
    const bench = await start({
      a: limited(ONE_GPU),
      b: limited(
        ONE_GPU,
        "dynamic_batching { preferred_batch_size: [ 1, 2, 3, 4 ] max_queue_delay_microseconds: 5000 }",
      ),
    });
    const first = flood(bench, ["a"], 1);
    await bench.clock.settle();
    const rest = flood(bench, ["b"], 4);
    await bench.finish();
    await Promise.all([first, rest]);
    expect(bench.backend.executions.map(({ rows }) => rows)).toEqual([1, 4]);
  });

  it("are not formed for an instance whose turn has not come, so that who is more urgent goes first", async () => {
    const bench = await start({
      a: limited(ONE_GPU),
      b: limited(ONE_GPU, "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"),
    });
    const first = flood(bench, ["a"], 1);
    await bench.clock.settle();
    const later = bench.infer("b", 7, { id: "later" });
    const urgent = bench.infer("b", 8, { id: "urgent", priority: 1 });
    await bench.finish();
    await Promise.all([first, later, urgent]);
    expect(bench.backend.executions.map(({ requestIds }) => requestIds.join())).toEqual(["", "urgent,later"]);
  });
});

describe("instances that could never have their turn", () => {
  const CONFIGS = {
    a: limited('resources { name: "r" count: 4 }'),
    b: limited('resources [ { name: "r" count: 2 }, { name: "s" global: true count: 2 } ] priority: 2'),
  };

  it.each([
    [
      "too few units",
      [
        { name: "r", count: 3 },
        { name: "s", count: 2 },
      ],
      3,
    ],
    [
      "units on another device",
      [
        { name: "r", count: 10, device: 10 },
        { name: "s", count: 2 },
      ],
      0,
    ],
  ])("fail to load: %s", async (_name, rateLimitResources, limit) => {
    await expect(start(CONFIGS, { rateLimitResources })).rejects.toThrow(
      "load failed for model 'a': version 1 is at UNAVAILABLE state: Invalid argument: " +
        `Resource count for "r" is limited to ${limit} which will prevent scheduling of one or more model instances, ` +
        "the minimum required count is 4",
    );
  });

  it("fail to load where a resource is global for one and not for another", async () => {
    const bench = await start({ b: CONFIGS.b });
    bench.repository.put("c", echoModel([1], limited('resources { name: "s" count: 2 }')));
    await expect(bench.load("c")).rejects.toThrow(
      'Resource "s" is present as both global and device-specific resource in the model configuration.',
    );
    await bench.unload("b");
    await bench.finish();
    await bench.load("c");
  });
});
