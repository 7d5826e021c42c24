import { createFakeClock } from "@naiad/testing";
import type { JsonObject, ModelStatistics } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { parseInputData } from "./input-data.ts";
import { parseRange } from "./load-range.ts";
import type { PerfReport } from "./perf-report.ts";
import { profileExport } from "./profile-export.ts";
import { composingCsvs, reportCsv } from "./report-csv.ts";
import { levelLines, summaryLines } from "./report-text.ts";
import type { Measurement, MeasurementRule, PerfLoad } from "./run-measurement.ts";
import { runMeasurement } from "./run-measurement.ts";
import { settingsLines } from "./settings-text.ts";
import type { PerfTarget } from "./target.ts";

const MS = 1e6;

interface ServerOptions {
  readonly latencyMs?: (n: number) => number;
  readonly config?: JsonObject;
  readonly hasStatistics?: boolean;
  readonly responses?: number;
  readonly failsAt?: number;
}

/** A server that answers after a while and counts in the manner of Triton's statistics. */
function bench(options: ServerOptions = {}) {
  const {
    latencyMs = () => 10,
    config = { max_batch_size: 8 },
    hasStatistics = true,
    responses = 1,
    failsAt = -1,
  } = options;
  const clock = createFakeClock();
  let count = 0;
  const statistics = (name: string): ModelStatistics => {
    const each = (ns: number) => ({ count, ns: count * ns });
    const inference_stats = {
      success: each(5 * MS),
      fail: each(0),
      queue: each(1 * MS),
      compute_input: each(0.25 * MS),
      compute_infer: each(3 * MS),
      compute_output: each(0.5 * MS),
      cache_hit: each(0),
      cache_miss: { count: 0, ns: 0 },
    };
    const version = {
      name,
      version: "1",
      last_inference: 0,
      inference_count: 2 * count,
      execution_count: count,
    };
    const stats = { ...inference_stats, cache_hit: { count: 0, ns: 0 } };
    return {
      model_stats: [
        { ...version, inference_stats: stats, response_stats: {}, batch_stats: [], memory_usage: [] },
      ],
    };
  };
  const target: PerfTarget = {
    name: "HTTP",
    modelMetadata: (name) =>
      Promise.resolve({
        name,
        versions: ["1"],
        platform: "p",
        inputs: [{ name: "x", datatype: "INT32", shape: [-1, 2] }],
        outputs: [],
      }),
    modelConfig: (name) => Promise.resolve(name === "m" ? config : {}),
    // Which also keeps the ends of windows from the ends of requests.
    modelStatistics: async (name) => {
      await new Promise<void>((resolve) => clock.after(1 * MS, resolve));
      return hasStatistics ? statistics(name) : undefined;
    },
    infer: async (_, signal) => {
      const n = count;
      await new Promise<void>((resolve) => clock.after(latencyMs(n) * MS, resolve));
      if (n === failsAt) throw new InferenceError("INTERNAL", "out of order");
      signal.throwIfAborted();
      count += 1;
      const after = Array.from({ length: responses }, (_, index) => (latencyMs(n) + index) * MS);
      return {
        responses,
        sendNs: 0.1 * MS,
        receiveNs: 0.2 * MS,
        ...(responses > 1 && { responseNs: after }),
        outputs: () => [],
      };
    },
  };
  return { clock, target, count: () => count };
}

const RULE: MeasurementRule = {
  window: { kind: "time", durationNs: 1000 * MS },
  stabilityPercent: 10,
  maxTrials: 5,
  percentile: undefined,
  latencyLimitNs: 0,
  warmupRequests: 0,
  requestCount: 0,
};

function concurrency(text: string): PerfLoad {
  return { kind: "concurrency", range: parseRange(text, "x"), search: "linear" };
}

function measurement(
  { clock, target }: ReturnType<typeof bench>,
  { rule, ...more }: Partial<Omit<Measurement, "rule">> & { readonly rule?: Partial<MeasurementRule> } = {},
): Measurement {
  return {
    target,
    clock,
    modelName: "m",
    modelVersion: "",
    data: { data: { kind: "zero" }, batchSize: 2, shapes: {}, stringLength: 1 },
    load: concurrency("1"),
    rule: { ...RULE, ...rule },
    sequences: { count: 1, lengthVariation: 0, idRange: { start: 1 } },
    parameters: {},
    keepMoments: false,
    composing: [],
    onModel: () => undefined,
    onWindow: () => undefined,
    onLevel: () => undefined,
    signal: new AbortController().signal,
    ...more,
  };
}

async function run(
  server: ReturnType<typeof bench>,
  options: Parameters<typeof measurement>[1] = {},
  seconds = 20,
): Promise<PerfReport> {
  const running = runMeasurement(measurement(server, options));
  running.catch(() => undefined);
  await server.clock.advance(seconds * 1000 * MS);
  return running;
}

describe("runMeasurement", () => {
  it("measures each level until three windows agree, and merges them", async () => {
    const server = bench();
    const { levels } = await run(server, { load: concurrency("1:2") });
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
    const { levels } = await run(bench());
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
    const bare = await run(bench({ hasStatistics: false }));
    expect(bare.levels[0]?.server).toBeUndefined();
  });

  it("tells of the models of an ensemble", async () => {
    const config = {
      max_batch_size: 8,
      ensemble_scheduling: { step: [{ model_name: "a" }, { model_name: "b" }, { model_name: "a" }] },
    };
    const { levels } = await run(bench({ config }));
    expect(levels[0]?.composing.map(({ name, version }) => [name, version])).toEqual([
      ["a", "1"],
      ["b", "1"],
    ]);
    // The looks at three models take their time, in which requests go on.
    expect(Math.abs((levels[0]?.composing[0]?.requests ?? 0) - 300)).toBeLessThanOrEqual(3);
  });

  it("gives up on windows that never agree", async () => {
    const server = bench({ latencyMs: (n) => 10 * 1.01 ** n });
    const { levels } = await run(server, {}, 60);
    expect(levels[0]).toMatchObject({ outcome: "unstable" });
    expect(levels[0]?.windows).toHaveLength(5);
  });

  it("stops where the latency that counts is over its limit", async () => {
    const server = bench({ latencyMs: (n) => (n % 10 === 9 ? 50 : 10) });
    const rule = { latencyLimitNs: 30 * MS };
    expect((await run(server, { rule, load: concurrency("1:2") }, 40)).levels).toHaveLength(2);
    const strict = await run(bench({ latencyMs: (n) => (n % 10 === 9 ? 50 : 10) }), {
      rule: { ...rule, percentile: 95 },
      load: concurrency("1:0"),
    });
    expect(strict.levels.map(({ outcome }) => outcome)).toEqual(["over-limit"]);
    expect(strict.percentile).toBe(95);
  });

  it("fills windows by number where it is told to, none of them shorter than a second", async () => {
    const rule = { window: { kind: "count", requests: 250 } } as const;
    const { levels } = await run(bench(), { rule });
    expect(levels[0]?.requests).toBe(750);
    expect(levels[0]?.durationNs).toBeCloseTo(7500 * MS, -8);
    const quick = await run(bench(), { rule: { window: { kind: "count", requests: 5 } } });
    expect(quick.levels[0]?.durationNs).toBe(3000 * MS);
  });

  it("sends exactly as many requests as it is told, after those that warm up", async () => {
    const server = bench();
    const { levels } = await run(server, {
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
    const { levels } = await run(server, { rule: { warmupRequests: 5 } }, 40);
    expect(levels[0]?.latency.meanNs).toBeCloseTo(10 * MS, 0);
  });

  it("keeps to a rate, and counts what waited for a slow server from when it was due", async () => {
    const load: PerfLoad = {
      kind: "request-rate",
      range: parseRange("50:100:50", "x"),
      search: "linear",
      distribution: "constant",
    };
    const { levels } = await run(bench({ latencyMs: () => 40 }), { load, rule: { warmupRequests: 5 } });
    expect(levels.map(({ inferencesPerSecond }) => inferencesPerSecond / 2)).toEqual([50, 100]);
    expect(levels[0]?.latency.meanNs).toBe(40 * MS);
    const custom = await run(bench(), { load: { kind: "intervals", intervalsNs: [10 * MS, 30 * MS] } });
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
    const [atRate] = (await run(stalling(), { load: rate, rule })).levels;
    const [atConcurrency] = (await run(stalling(), { load: concurrency("1"), rule })).levels;
    // Requests were due all through the stall: those of its first moments waited for nearly all of it.
    expect((atRate?.latency.p99Ns ?? 0) / MS).toBeGreaterThan(450);
    expect((atRate?.latency.p90Ns ?? 0) / MS).toBeGreaterThan(150);
    expect((atRate?.latency.p50Ns ?? 0) / MS).toBeCloseTo(2, 1);
    // One request alone met it: the next was sent when it was over.
    expect((atConcurrency?.latency.p99Ns ?? 0) / MS).toBeCloseTo(2, 1);
    expect((atConcurrency?.latency.maxNs ?? 0) / MS).toBeGreaterThan(450);
  });

  it("measures the first response of a decoupled model, and counts all", async () => {
    const { levels } = await run(bench({ responses: 3 }), { keepMoments: true, rule: { requestCount: 4 } });
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
    expect((await run({ ...server, target }, { data: dataOf([1, 2]), rule })).levels[0]?.requests).toBe(3);
    await expect(run({ ...server, target }, { data: dataOf([1, 3]), rule })).rejects.toThrow(
      "Output doesn't match expected output: output 'y' is 2 at element 1, and must be 3",
    );
  });

  it("refuses more sequences at a time than there are ids", async () => {
    const sequences = { count: 3, lengthVariation: 0, idRange: { start: 1, end: 3 } };
    const server = bench({ config: { max_batch_size: 2, sequence_batching: {} } });
    await expect(run(server, { sequences, load: concurrency("1:3") })).rejects.toThrow(
      "3 sequences of model 'm' may be open at a time, but there are only 2 ids",
    );
  });

  it("tells of models that the measured one calls, and of theirs", async () => {
    const { levels } = await run(bench(), { composing: [{ name: "a", version: "1" }] });
    expect(levels[0]?.composing.map(({ name, version }) => [name, version])).toEqual([["a", "1"]]);
  });

  it("ends with the error of a request, whatever its end brings down", async () => {
    const server = bench({ failsAt: 0 });
    // The look at statistics before the first window is under way when that request fails, and the connections are closed.
    const target: PerfTarget = {
      ...server.target,
      modelStatistics: async () => {
        await new Promise<void>((resolve) => server.clock.after(10 * MS, resolve));
        throw new InferenceError("UNAVAILABLE", "stopped");
      },
    };
    await expect(run({ ...server, target })).rejects.toThrow("out of order");
  });

  it("ends with the first error, with an abort, and where nothing comes in time", async () => {
    await expect(run(bench({ failsAt: 30 }))).rejects.toThrow("out of order");
    await expect(run(bench({ latencyMs: () => 5000 }))).rejects.toThrow(
      "no request was answered within a window of 1000 msec",
    );
    const aborting = new AbortController();
    const server = bench();
    const running = runMeasurement(measurement(server, { signal: aborting.signal }));
    running.catch(() => undefined);
    await server.clock.advance(1500 * MS);
    aborting.abort(new Error("enough"));
    await server.clock.drain();
    await expect(running).rejects.toThrow("enough");
    expect(server.clock.timerCount).toBe(0);
  });
});

describe("a server that hangs", () => {
  const never = (signal?: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => {
        reject(new Error("the connection is closed"));
      });
    });

  /** What is sent from this moment on is never answered. */
  function hanging(fromMs: number): ReturnType<typeof bench> {
    const server = bench();
    const { clock, target } = server;
    const infer: PerfTarget["infer"] = (request, signal) =>
      clock.nowNs() >= fromMs * MS ? never(signal) : target.infer(request, signal);
    return { ...server, target: { ...target, infer } };
  }

  it("ends the measurement after a window without an answer", async () => {
    const server = hanging(50);
    const load: PerfLoad = {
      kind: "request-rate",
      range: parseRange("5", "x"),
      search: "linear",
      distribution: "constant",
    };
    for (const options of [{}, { load }]) {
      await expect(run(server, options, 5)).rejects.toThrow("no request was answered within a window");
    }
    expect(server.clock.timerCount).toBe(0);
  });

  it("ends what waits for a number of requests after five minutes", async () => {
    const message = "no request was answered for 300 seconds";
    const rules: Partial<MeasurementRule>[] = [
      { requestCount: 9 },
      { warmupRequests: 9 },
      { window: { kind: "count", requests: 9 } },
    ];
    for (const rule of rules) await expect(run(hanging(50), { rule }, 302)).rejects.toThrow(message);
  });

  it("keeps what was measured when the last requests are never answered", async () => {
    const server = hanging(1000);
    const { levels } = await run(server, { load: concurrency("2"), rule: { maxTrials: 1 } }, 302);
    expect(levels[0]).toMatchObject({ outcome: "unstable", requests: 200 });
    expect(server.clock.timerCount).toBe(0);
  });

  it("ends a measurement whose other questions take longer than a minute", async () => {
    const message = "the server has not answered within 60 seconds";
    for (const question of ["modelMetadata", "modelConfig", "modelStatistics"] as const) {
      const server = bench();
      const target: PerfTarget = { ...server.target, [question]: () => never() };
      await expect(run({ ...server, target }, {}, 61)).rejects.toThrow(message);
      expect(server.clock.timerCount).toBe(0);
    }
  });

  it("does not hold up an abort", async () => {
    for (const question of ["modelMetadata", "modelStatistics"] as const) {
      const server = bench();
      const target: PerfTarget = { ...server.target, [question]: () => never() };
      const aborting = new AbortController();
      const running = runMeasurement(measurement({ ...server, target }, { signal: aborting.signal }));
      running.catch(() => undefined);
      await server.clock.advance(5 * MS);
      aborting.abort(new Error("enough"));
      await server.clock.advance(20 * MS);
      await expect(running).rejects.toThrow("enough");
    }
  });
});

describe("reports", () => {
  it("are laid out as perf_analyzer's", async () => {
    const server = bench();
    const options = measurement(server);
    const report = await run(server);
    expect(settingsLines(options, { model: { isDecoupled: false, isSequence: false } })).toEqual([
      "*** Measurement Settings ***",
      "  Batch size: 2",
      "  Service Kind: Triton",
      '  Using "time_windows" mode for stabilization',
      "  Measurement window: 1000 msec",
      "  Using synchronous calls for inference",
      "  Stabilizing using average latency",
    ]);
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.map((line) => line.replace(/p(\d\d) latency: \d+/, "p$1 latency: N"))).toEqual([
      "  Client:",
      "    Request count: 300",
      "    Throughput: 200 infer/sec",
      "    Avg latency: 10000 usec (standard deviation 0 usec)",
      "    p50 latency: N usec",
      "    p90 latency: N usec",
      "    p95 latency: N usec",
      "    p99 latency: N usec",
      "    Avg HTTP time: 10000 usec (send/recv 300 usec + response wait 9700 usec)",
      "  Server:",
      "    Inference count: 600",
      "    Execution count: 300",
      "    Successful request count: 300",
      "    Avg request latency: 5000 usec (overhead 250 usec + queue 1000 usec + compute input 250 usec + compute infer 3000 usec + compute output 500 usec)",
    ]);
    expect(summaryLines(report)).toEqual([
      "Inferences/Second vs. Client Average Batch Latency",
      "Concurrency: 1, throughput: 200 infer/sec, latency 10000 usec",
    ]);
  });

  it("are written as CSV, by rising throughput", async () => {
    const report = await run(bench(), { load: concurrency("1:2") });
    const shuffled = { ...report, levels: [...report.levels].reverse() };
    const [header, one, two] = reportCsv(shuffled, { verbose: false }).split("\n");
    expect(header).toBe(
      "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input," +
        "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency",
    );
    expect(one).toMatch(/^1,200,100,4950,1000,250,3000,500,200,10\d\d\d,/);
    expect(two).toMatch(/^2,400,/);
    const verbose = reportCsv(report, { verbose: true }).split("\n");
    expect(verbose[0]).toMatch(/,Avg latency,request\/response,response wait$/);
    expect(verbose[1]).toMatch(/,10000,300,9700$/);
  });

  it("have a block for each model of an ensemble, and the responses of decoupled models", async () => {
    const config = { max_batch_size: 8, ensemble_scheduling: { step: [{ model_name: "a" }] } };
    const report = await run(bench({ config, responses: 3 }));
    expect(reportCsv(report, { verbose: false })).toContain(
      "Inferences/Second,Response Throughput,Client Send",
    );
    const [csv] = composingCsvs(report);
    expect(csv).toMatchObject({ name: "a", version: "1" });
    expect(csv?.text).toMatch(/^Concurrency,Inferences\/Second,.*,Client Recv\n1,/);
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.some((line) => /^ {4}Response Throughput: (29|30)\d(\.\d+)? infer\/sec$/.test(line))).toBe(
      true,
    );
    expect(lines).toContain("  a, version: 1");
  });

  it("warn where numbers are not to be believed", async () => {
    const report = await run(
      bench({ latencyMs: (n) => 10 * 1.01 ** n, hasStatistics: false }),
      { rule: { percentile: 75 } },
      60,
    );
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.at(-1)).toMatch(
      /^Failed to obtain stable measurement within 5 measurement windows for concurrency 1\./,
    );
    expect(lines).toContain("  Server: keeps no statistics");
    expect(lines.some((line) => line.startsWith("    p75 latency: "))).toBe(true);
  });

  it("have the times of every request for perf_analyzer's profile", async () => {
    const report = await run(bench(), { rule: { requestCount: 2 }, keepMoments: true });
    const origin = 1_700_000_000_000_000_000n;
    const at = (ms: number): string => String(origin + BigInt(ms * MS));
    const text = profileExport({ ...report, clockOriginMs: 1_700_000_000_000 });
    // Nanoseconds since the epoch are beyond what numbers hold exactly.
    expect(text).toContain(`{"timestamp":${at(1)},"response_timestamps":[${at(11)}]}`);
    expect(JSON.parse(text)).toMatchObject({
      experiments: [
        {
          experiment: { mode: "concurrency", value: 1 },
          requests: [{}, {}],
          window_boundaries: [Number(at(1)), Number(at(21))],
        },
      ],
      service_kind: "triton",
    });
  });
});
