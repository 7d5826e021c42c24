import { describe, expect, it } from "vitest";
import { bench, concurrency, MS, runOn } from "../../test/perf-bench.ts";
import { parseInputData } from "./input-data.ts";
import { parseRange } from "./load-range.ts";
import type { PerfLoad } from "./run-measurement.ts";
import type { PerfTarget } from "./target.ts";

describe("runMeasurement", () => {
  it("measures each level until three windows agree, and merges them", async () => {
    const server = bench();
    const { levels } = await runOn(server, { load: concurrency("1:2") });
    expect(levels.map(({ value, outcome, windows }) => [value, outcome, windows.length])).toEqual([
      [1, "stable", 3],
      [2, "stable", 3],
    ]);
    const [one, two] = levels;
    expect(one).toMatchObject({
      requests: 300,
      durationNs: 3000 * MS,
      inferencesPerSecond: 200,
      delayedRequests: 0,
    });
    expect(two).toMatchObject({ requests: 600, inferencesPerSecond: 400 });
    expect(one?.latency).toMatchObject({ meanNs: 10 * MS, stdDevNs: 0 });
    expect(one?.latency.p99Ns).toBeCloseTo(10 * MS, -5);
    expect(server.clock.timerCount).toBe(0);
  });

  it("has the server's part of the windows alone", async () => {
    const { levels } = await runOn(bench());
    expect(levels[0]?.server).toEqual({
      inferences: 600,
      executions: 300,
      requests: 300,
      requestNs: 5 * MS,
      queueNs: 1 * MS,
      computeInputNs: 0.25 * MS,
      computeInferNs: 3 * MS,
      computeOutputNs: 0.5 * MS,
      overheadNs: 0.25 * MS,
    });
    const bare = await runOn(bench({ hasStatistics: false }));
    expect(bare.levels[0]?.server).toBeUndefined();
  });

  it("tells of the models of an ensemble", async () => {
    const config = {
      max_batch_size: 8,
      ensemble_scheduling: { step: [{ model_name: "a" }, { model_name: "b" }, { model_name: "a" }] },
    };
    const { levels } = await runOn(bench({ config }));
    expect(levels[0]?.composing.map(({ name, version }) => [name, version])).toEqual([
      ["a", "1"],
      ["b", "1"],
    ]);
    // The looks at three models take their time, in which requests go on.
    expect(Math.abs((levels[0]?.composing[0]?.requests ?? 0) - 300)).toBeLessThanOrEqual(3);
  });

  it("stops where the latency that counts is over its limit", async () => {
    const server = bench({ latencyMs: (n) => (n % 10 === 9 ? 50 : 10) });
    const rule = { latencyLimitNs: 30 * MS };
    expect((await runOn(server, { rule, load: concurrency("1:2") }, 40)).levels).toHaveLength(2);
    const strict = await runOn(bench({ latencyMs: (n) => (n % 10 === 9 ? 50 : 10) }), {
      rule: { ...rule, percentile: 95 },
      load: concurrency("1:0"),
    });
    expect(strict.levels.map(({ outcome }) => outcome)).toEqual(["over-limit"]);
    expect(strict.percentile).toBe(95);
  });

  it("fills windows by number where it is told to, none of them shorter than a second", async () => {
    const rule = { window: { kind: "count", requests: 250 } } as const;
    const { levels } = await runOn(bench(), { rule });
    expect(levels[0]?.requests).toBe(750);
    expect(levels[0]?.durationNs).toBeCloseTo(7500 * MS, -8);
    const quick = await runOn(bench(), { rule: { window: { kind: "count", requests: 5 } } });
    expect(quick.levels[0]?.durationNs).toBe(3000 * MS);
  });

  it("sends exactly as many requests as it is told, after those that warm up", async () => {
    const server = bench();
    const { levels } = await runOn(server, {
      rule: { requestCount: 7, warmupRequests: 3 },
      keepMoments: true,
      load: concurrency("2"),
    });
    expect(server.count()).toBe(10);
    expect(levels[0]).toMatchObject({ outcome: "counted", requests: 7, server: { requests: 7 } });
    expect(levels[0]?.moments).toHaveLength(7);
  });

  it("leaves warm-up out of the windows", async () => {
    const server = bench({ latencyMs: (n) => (n < 5 ? 900 : 10) });
    const { levels } = await runOn(server, { rule: { warmupRequests: 5 } }, 40);
    expect(levels[0]?.latency.meanNs).toBeCloseTo(10 * MS, 0);
  });

  it("keeps to a rate, and counts what waited for a slow server from when it was due", async () => {
    const load: PerfLoad = {
      kind: "request-rate",
      range: parseRange("50:100:50", "x"),
      search: "linear",
      distribution: "constant",
    };
    const { levels } = await runOn(bench({ latencyMs: () => 40 }), { load, rule: { warmupRequests: 5 } });
    expect(levels.map(({ inferencesPerSecond }) => inferencesPerSecond / 2)).toEqual([50, 100]);
    expect(levels[0]?.latency.meanNs).toBe(40 * MS);
    const custom = await runOn(bench(), { load: { kind: "intervals", intervalsNs: [10 * MS, 30 * MS] } });
    expect(custom.levels.map(({ value }) => value)).toEqual([50]);
  });

  it("shows a stall of the server in p99 at a rate, and hides it at a concurrency", async () => {
    // Answers take 2 ms, but the server stands still from second 1 to 1.5: of three seconds that is a sixth.
    const [stallFrom, stallUntil] = [1000, 1500];
    const stalling = () => {
      const server = bench({ latencyMs: () => 2 });
      const { target: steady } = server;
      const target: PerfTarget = {
        ...server.target,
        infer: async (request, signal) => {
          const answer = await steady.infer(request, signal);
          const nowMs = server.clock.nowNs() / MS;
          if (nowMs > stallFrom && nowMs < stallUntil) {
            await new Promise<void>((resolve) => server.clock.after((stallUntil - nowMs) * MS, resolve));
          }
          return answer;
        },
      };
      return { ...server, target };
    };
    const rule = { stabilityPercent: 1e9, maxTrials: 3 };
    const rate: PerfLoad = {
      kind: "request-rate",
      range: parseRange("100", "x"),
      search: "linear",
      distribution: "constant",
    };
    const [atRate] = (await runOn(stalling(), { load: rate, rule })).levels;
    const [atConcurrency] = (await runOn(stalling(), { load: concurrency("1"), rule })).levels;
    // Requests were due all through the stall: those of its first moments waited for nearly all of it.
    expect((atRate?.latency.p99Ns ?? 0) / MS).toBeGreaterThan(450);
    expect((atRate?.latency.p90Ns ?? 0) / MS).toBeGreaterThan(150);
    expect((atRate?.latency.p50Ns ?? 0) / MS).toBeCloseTo(2, 1);
    // One request alone met it: the next was sent when it was over.
    expect((atConcurrency?.latency.p99Ns ?? 0) / MS).toBeCloseTo(2, 1);
    expect((atConcurrency?.latency.maxNs ?? 0) / MS).toBeGreaterThan(450);
  });

  it("measures the first response of a decoupled model, and counts all", async () => {
    const { levels } = await runOn(bench({ responses: 3 }), { keepMoments: true, rule: { requestCount: 4 } });
    expect(levels[0]).toMatchObject({ requests: 4, responses: 12, latency: { meanNs: 10 * MS } });
    const [moments] = levels[0]?.moments ?? [];
    expect(moments?.responsesNs.map((at) => (at - moments.startNs) / MS)).toEqual([10, 11, 12]);
  });

  it("fails where an output is another than it must be", async () => {
    const server = bench();
    const bytes = new Uint8Array(Int32Array.of(1, 2).buffer);
    const target: PerfTarget = {
      ...server.target,
      modelMetadata: async (name, version) => ({
        ...(await server.target.modelMetadata(name, version)),
        outputs: [{ name: "y", datatype: "INT32", shape: [-1, 2] }],
      }),
      infer: async (request, signal) => ({
        ...(await server.target.infer(request, signal)),
        outputs: () => [{ kind: "bytes", name: "y", datatype: "INT32", shape: [1, 2], bytes }],
      }),
    };
    const dataOf = (y: readonly number[]) => ({
      data: parseInputData(JSON.stringify({ data: [{ x: [1, 1] }], validation_data: [{ y }] })),
      batchSize: 1,
      shapes: {},
      stringLength: 1,
    });
    const rule = { requestCount: 3 };
    expect((await runOn({ ...server, target }, { data: dataOf([1, 2]), rule })).levels[0]?.requests).toBe(3);
    await expect(runOn({ ...server, target }, { data: dataOf([1, 3]), rule })).rejects.toThrow(
      "Output doesn't match expected output: output 'y' is 2 at element 1, and must be 3",
    );
  });

  it("refuses more sequences at a time than there are ids", async () => {
    const sequences = { count: 3, lengthVariation: 0, idRange: { start: 1, end: 3 } };
    const server = bench({ config: { max_batch_size: 2, sequence_batching: {} } });
    await expect(runOn(server, { sequences, load: concurrency("1:3") })).rejects.toThrow(
      "3 sequences of model 'm' may be open at a time, but there are only 2 ids",
    );
  });

  it("tells of models that the measured one calls, and of theirs", async () => {
    const { levels } = await runOn(bench(), { composing: [{ name: "a", version: "1" }] });
    expect(levels[0]?.composing.map(({ name, version }) => [name, version])).toEqual([["a", "1"]]);
  });
});
