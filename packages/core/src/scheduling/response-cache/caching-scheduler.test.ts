import type { ModelStatisticsRecorder } from "../../statistics/model-statistics.ts";
import type { CollectingLogger, FakeClock } from "@naiad/testing";
import { createCollectingLogger, createFakeClock } from "@naiad/testing";
import type { Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createModelStatistics } from "../../statistics/model-statistics.ts";
import type { RequestOutcome, ScheduledRequest, Scheduler } from "../scheduler.ts";
import { CachingScheduler } from "./caching-scheduler.ts";
import { LocalResponseCache } from "./local-response-cache.ts";

const TIMES = { queueNs: 1, computeInputNs: 2, computeInferNs: 3, computeOutputNs: 4 };

interface Bench {
  readonly clock: FakeClock;
  readonly logger: CollectingLogger;
  readonly statistics: ModelStatisticsRecorder;
  readonly cache: LocalResponseCache;
  readonly caching: CachingScheduler;
  /** What got through to the scheduler behind the cache and is not answered. */
  readonly executing: ScheduledRequest[];
  /** `<id> <value or error>` of each answer, in the order they came. */
  readonly answers: readonly string[];
  send(value: number, options?: SendOptions): AbortController;
  /** Whether the scheduler behind the cache refuses requests. */
  isFull: boolean;
  /** Answers the first of `executing` with its value, or as told. */
  execute(outcome?: Partial<RequestOutcome>): void;
}

interface SendOptions {
  readonly id?: string;
  readonly input?: Tensor;
  readonly abort?: AbortController;
  readonly respond?: (outcome: RequestOutcome) => void;
}

function createBench(
  options: { readonly byteSize?: number; readonly preserveOrdering?: boolean } = {},
): Bench {
  const clock = createFakeClock();
  const logger = createCollectingLogger();
  const statistics = createModelStatistics({ clock });
  const cache = new LocalResponseCache({ byteSize: options.byteSize ?? 10_000, clock });
  const executing: ScheduledRequest[] = [];
  const answers: string[] = [];
  let isStopped = false;
  const behind: Scheduler = {
    get inflightCount() {
      return executing.length;
    },
    enqueue: (scheduled) => {
      if (bench.isFull) throw new InferenceError("UNAVAILABLE", "full");
      if (isStopped) throw new InferenceError("UNAVAILABLE", "stopped");
      if (scheduled.signal.aborted) throw new InferenceError("CANCELLED", "cancelled");
      executing.push(scheduled);
    },
    stop: () => {
      isStopped = true;
      return Promise.resolve();
    },
  };
  const caching = new CachingScheduler({
    modelName: "m",
    scheduler: behind,
    partition: cache.openPartition(),
    preserveOrdering: options.preserveOrdering ?? false,
    statistics,
    clock,
    logger,
  });
  let sent = 0;
  const bench: Bench = {
    clock,
    logger,
    statistics,
    cache,
    caching,
    executing,
    answers,
    isFull: false,
    send: (value, { id = String((sent += 1)), input = tensor("x", value), respond, abort } = {}) => {
      const controller = abort ?? new AbortController();
      caching.enqueue({
        request: {
          id,
          inputs: [input],
          outputs: ["y"],
          batchSize: 1,
          parameters: {},
          priority: 0,
          timeoutUs: 0,
        },
        signal: controller.signal,
        startNs: clock.nowNs(),
        respond: (outcome) => {
          respond?.(outcome);
          answers.push(`${id} ${answerText(outcome)}`);
        },
      });
      return controller;
    },
    execute: (outcome) => {
      const scheduled = executing.shift();
      const [input] = scheduled?.request.inputs ?? [];
      if (scheduled === undefined || input === undefined) throw new Error("nothing to execute");
      scheduled.respond({
        kind: "response",
        outputs: [{ ...input, name: "y" }],
        parameters: {},
        times: TIMES,
        executedBatchSize: 1,
        ...outcome,
      } as RequestOutcome);
    },
  };
  return bench;
}

function tensor(name: string, value: number): Tensor {
  return { kind: "bytes", name, datatype: "UINT8", shape: [1, 1], bytes: Uint8Array.of(value) };
}

function answerText(outcome: RequestOutcome): string {
  if (outcome.kind === "error") return outcome.error.message;
  if (outcome.kind === "end") return "end";
  return outcome.outputs
    .map((output) => (output.kind === "bytes" ? String(output.bytes[0]) : "device"))
    .join();
}

function cacheCounts({ statistics }: Bench): object {
  const { inference_stats: stats } = statistics.snapshot({ name: "m", version: "1" });
  return {
    success: stats.success.count,
    fail: stats.fail.count,
    hits: stats.cache_hit.count,
    misses: stats.cache_miss.count,
  };
}

describe("a request whose answer is known", () => {
  it("is answered with it at once, but not from inside enqueue, and does not get any further", async () => {
    const bench = createBench();
    bench.send(5);
    bench.execute();
    bench.send(5);
    expect(bench.executing).toEqual([]);
    expect(bench.answers).toEqual(["1 5"]);
    expect(bench.caching.inflightCount).toBe(1);
    await bench.clock.settle();
    expect(bench.answers).toEqual(["1 5", "2 5"]);
    expect(bench.caching.inflightCount).toBe(0);
    expect(cacheCounts(bench)).toEqual({ success: 1, fail: 0, hits: 1, misses: 1 });
  });

  it("gets buffers that nobody else has", async () => {
    const bench = createBench();
    bench.send(5, { respond: spoil });
    bench.execute();
    bench.send(5, { respond: spoil });
    bench.send(5);
    await bench.clock.settle();
    expect(bench.answers.at(-1)).toBe("3 5");
  });

  it("is told what was executed for it: nothing", async () => {
    const bench = createBench();
    const outcomes: RequestOutcome[] = [];
    bench.send(5);
    bench.execute({ parameters: { note: "n" } });
    bench.send(5, { respond: (outcome) => outcomes.push(outcome) });
    await bench.clock.settle();
    expect(outcomes).toMatchObject([
      {
        kind: "response",
        parameters: { note: "n" },
        executedBatchSize: 0,
        times: { queueNs: 0, computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 },
      },
    ]);
  });

  it("is refused when it was cancelled before, and cancelled when it was cancelled since", async () => {
    const bench = createBench();
    bench.send(5);
    bench.execute();
    bench.send(5).abort();
    expect(bench.answers.at(-1)).toBe("2 [request id: 2] request was cancelled");
    await bench.clock.settle();
    expect(bench.answers.length).toBe(2);
    expect(cacheCounts(bench)).toEqual({ success: 0, fail: 1, hits: 0, misses: 1 });

    const abort = new AbortController();
    abort.abort();
    expect(() => bench.send(5, { abort })).toThrow("cancelled");
  });

  it("whose receiver throws is told to the log", async () => {
    const bench = createBench();
    bench.send(5);
    bench.execute();
    bench.send(5, {
      respond: () => {
        throw new Error("gone");
      },
    });
    await bench.clock.settle();
    expect(bench.caching.inflightCount).toBe(0);
    expect(bench.logger.lines).toEqual([
      { level: "error", message: "model 'm': a response could not be delivered: Error: gone" },
    ]);
  });
});

describe("a request whose answer is not known", () => {
  it("is executed; its errors are not kept", async () => {
    const bench = createBench();
    bench.send(5);
    bench.execute({ kind: "error", error: new InferenceError("INTERNAL", "broken"), reason: "BACKEND" });
    bench.send(5);
    bench.execute();
    bench.send(5);
    await bench.clock.settle();
    expect(bench.answers).toEqual(["1 broken", "2 5", "3 5"]);
    expect(cacheCounts(bench)).toMatchObject({ hits: 1, misses: 1 });
  });

  it("is executed beside its equals; what is kept is the first answer, and that is the miss", async () => {
    const bench = createBench();
    bench.send(5);
    bench.send(5);
    expect(bench.executing.length).toBe(2);
    bench.execute({ outputs: [tensor("y", 6)] });
    bench.execute({ outputs: [tensor("y", 7)] });
    bench.send(5);
    await bench.clock.settle();
    expect(bench.answers).toEqual(["1 6", "2 7", "3 6"]);
    expect(cacheCounts(bench)).toMatchObject({ hits: 1, misses: 1 });
    expect(bench.cache.counters()).toMatchObject({ lookups: 3, hits: 1, misses: 2 });
  });

  it("whose answer is too large is a miss each time, and told once", () => {
    const bench = createBench({ byteSize: 200 });
    for (let count = 0; count < 3; count += 1) {
      bench.send(5);
      bench.execute();
    }
    expect(cacheCounts(bench)).toMatchObject({ hits: 0, misses: 3 });
    expect(bench.logger.lines.length).toBe(1);
    expect(bench.logger.lines[0]?.message).toMatch(
      /^model 'm': Failed to insert key \[.*\] into response cache: Requested byte_size: \d+ is greater than total cache size: 200/,
    );
  });

  it("whose answer lies on a device is executed each time", () => {
    const bench = createBench();
    const output = {
      kind: "device",
      name: "y",
      datatype: "UINT8",
      shape: [1],
      worker: "w",
      handle: 1,
    } as const;
    bench.send(5);
    bench.execute({ outputs: [output] });
    bench.send(5);
    expect(bench.executing.length).toBe(1);
    expect(cacheCounts(bench)).toMatchObject({ misses: 1 });
  });

  it("whose input lies on a device passes the cache by", () => {
    const bench = createBench();
    const input = {
      kind: "device",
      name: "x",
      datatype: "UINT8",
      shape: [1],
      worker: "w",
      handle: 1,
    } as const;
    bench.send(5, { input });
    bench.execute();
    bench.send(5, { input });
    expect(bench.executing.length).toBe(1);
    expect(cacheCounts(bench)).toMatchObject({ hits: 0, misses: 0 });
    expect(bench.cache.counters()).toMatchObject({ lookups: 0, entries: 0 });
  });

  it("that is refused is not waited for", async () => {
    const bench = createBench({ preserveOrdering: true });
    bench.send(5);
    bench.execute();
    bench.isFull = true;
    expect(() => bench.send(6)).toThrow("full");
    bench.send(5);
    await bench.clock.settle();
    expect(bench.answers.length).toBe(2);
  });
});

describe("with preserve_ordering", () => {
  async function benchWithKnown(): Promise<Bench> {
    const bench = createBench({ preserveOrdering: true });
    bench.send(5, { id: "known" });
    bench.execute();
    await bench.clock.settle();
    return bench;
  }

  it("an answer that is known waits for those of the requests before it", async () => {
    const bench = await benchWithKnown();
    bench.send(1);
    bench.send(5);
    bench.send(2);
    bench.send(5);
    await bench.clock.settle();
    expect(bench.answers.slice(1)).toEqual([]);
    bench.execute();
    expect(bench.answers.slice(1)).toEqual(["1 1", "2 5"]);
    bench.execute();
    expect(bench.answers.slice(1)).toEqual(["1 1", "2 5", "3 2", "4 5"]);
    expect(bench.caching.inflightCount).toBe(0);
  });

  it("it does not wait for one that was cancelled, and is cancelled itself while it waits", async () => {
    const bench = await benchWithKnown();
    bench.send(1);
    const cancel = bench.send(5);
    bench.send(5);
    await bench.clock.settle();
    cancel.abort();
    expect(bench.answers.slice(1)).toEqual(["2 [request id: 2] request was cancelled"]);
    bench.execute({ kind: "error", error: new InferenceError("CANCELLED", "cancelled"), reason: "CANCELED" });
    expect(bench.answers.slice(2)).toEqual(["1 cancelled", "3 5"]);
  });
});

describe("a known answer whose caller goes at once", () => {
  it("keeps no answer behind it waiting", async () => {
    const bench = createBench({ preserveOrdering: true });
    bench.send(5, { id: "known" });
    bench.execute();
    await bench.clock.settle();
    bench.send(5, { id: "gone" }).abort();
    bench.send(5, { id: "known too" });
    await bench.clock.settle();
    bench.send(1, { id: "executed" });
    bench.execute();
    expect(bench.answers).toEqual([
      "known 5",
      "gone [request id: gone] request was cancelled",
      "known too 5",
      "executed 1",
    ]);
    expect(bench.caching.inflightCount).toBe(0);
  });
});

describe("a stop", () => {
  it("waits for answers on their way, refuses what comes, and forgets what it kept", async () => {
    const bench = createBench();
    bench.send(5);
    bench.execute();
    bench.send(5);
    let isStopped = false;
    const stopping = bench.caching.stop().then(() => {
      isStopped = true;
    });
    expect(() => bench.send(5)).toThrow("stopped");
    expect(isStopped).toBe(false);
    await stopping;
    expect(bench.answers).toEqual(["1 5", "2 5"]);
    expect(bench.cache.counters().entries).toBe(0);
  });
});

/** What a transfer of the answer to another context does to it. */
function spoil(outcome: RequestOutcome): void {
  if (outcome.kind !== "response") return;
  for (const output of outcome.outputs) if (output.kind === "bytes") output.bytes.fill(0);
}
