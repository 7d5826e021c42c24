import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { PerfBench } from "../../test/perf-bench.ts";
import { bench, concurrency, measurement, MS, runOn } from "../../test/perf-bench.ts";
import { parseRange } from "./load-range.ts";
import type { MeasurementRule, PerfLoad } from "./run-measurement.ts";
import { runMeasurement } from "./run-measurement.ts";
import type { PerfTarget } from "./target.ts";

describe("runMeasurement", () => {
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
    await expect(runOn({ ...server, target })).rejects.toThrow("out of order");
  });

  it("ends with the first error, with an abort, and where nothing comes in time", async () => {
    await expect(runOn(bench({ failsAt: 30 }))).rejects.toThrow("out of order");
    await expect(runOn(bench({ latencyMs: () => 5000 }))).rejects.toThrow(
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

  it("gives up on windows that never agree", async () => {
    const server = bench({ latencyMs: (n) => 10 * 1.01 ** n });
    const { levels } = await runOn(server, {}, 60);
    expect(levels[0]).toMatchObject({ outcome: "unstable" });
    expect(levels[0]?.windows).toHaveLength(5);
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
  function hanging(fromMs: number): PerfBench {
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
      await expect(runOn(server, options, 5)).rejects.toThrow("no request was answered within a window");
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
    for (const rule of rules) await expect(runOn(hanging(50), { rule }, 302)).rejects.toThrow(message);
  });

  it("keeps what was measured when the last requests are never answered", async () => {
    const server = hanging(1000);
    const { levels } = await runOn(server, { load: concurrency("2"), rule: { maxTrials: 1 } }, 302);
    expect(levels[0]).toMatchObject({ outcome: "unstable", requests: 200 });
    expect(server.clock.timerCount).toBe(0);
  });

  it("ends a measurement whose other questions take longer than a minute", async () => {
    const message = "the server has not answered within 60 seconds";
    for (const question of ["modelMetadata", "modelConfig", "modelStatistics"] as const) {
      const server = bench();
      const target: PerfTarget = { ...server.target, [question]: () => never() };
      await expect(runOn({ ...server, target }, {}, 61)).rejects.toThrow(message);
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
