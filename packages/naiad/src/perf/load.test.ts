import type { FakeClock } from "@naiad/testing";
import { createFakeClock } from "@naiad/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrivalsAfter, arrivalsAt } from "./arrivals.ts";
import type { PerfDataSet } from "./data-set.ts";
import type { Completion, Load, LoadContext } from "./load.ts";
import { startConcurrentLoad, startScheduledLoad } from "./load.ts";
import type { PerfModel } from "./perf-model.ts";
import { seededRandom } from "./random.ts";
import { createRequestSource } from "./request-source.ts";

const MS = 1e6;
const MODEL: PerfModel = {
  name: "m",
  version: "",
  maxBatchSize: 0,
  inputs: [],
  outputs: [],
  isSequence: false,
  isDecoupled: false,
  composing: [],
};
const DATA: PerfDataSet = { streams: [[{ inputs: [], parameters: {} }]] };

/** A server whose answer to request n takes `latencyMs(n)`. */
function bench(latencyMs: (n: number) => number, { isSequence = false, limit = Infinity, fails = -1 } = {}) {
  const clock = createFakeClock();
  const completions: Completion[] = [];
  const failures: unknown[] = [];
  /** What was sent, in this order: `id:S` start, `id:E` end. */
  const sent: string[] = [];
  let inFlight = 0;
  let peak = 0;
  let count = 0;
  const context: LoadContext = {
    clock,
    limit,
    source: createRequestSource({
      model: { ...MODEL, isSequence },
      data: DATA,
      sequences: { length: 3, lengthVariation: 0, idRange: { start: 1 } },
      parameters: {},
      random: seededRandom(1),
    }),
    send: async ({ sequence }) => {
      const n = count;
      count += 1;
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      if (sequence !== undefined) {
        sent.push(`${sequence.id}${sequence.start ? "S" : ""}${sequence.end ? "E" : ""}`);
      }
      await new Promise<void>((resolve) => clock.after(latencyMs(n) * MS, resolve));
      inFlight -= 1;
      if (n === fails) throw new Error("failed");
      return { responses: 1, outputs: () => [] };
    },
    onSend: () => undefined,
    onCompletion: (completion) => completions.push(completion),
    onFailure: (thrown) => failures.push(thrown),
  };
  return { clock, context, completions, failures, sent, peak: () => peak, count: () => count };
}

async function stopped(load: Load, clock: FakeClock): Promise<void> {
  const stopping = load.stop();
  await clock.drain();
  await stopping;
}

describe("a concurrent load", () => {
  it("keeps as many requests on their way as it is told", async () => {
    const { clock, completions, context, count, peak } = bench(() => 10);
    const load = startConcurrentLoad(3, context);
    await clock.advance(95 * MS);
    expect(peak()).toBe(3);
    expect(completions).toHaveLength(27);
    expect(completions.every(({ startNs, endNs }) => endNs - startNs === 10 * MS)).toBe(true);
    await stopped(load, clock);
    expect(count()).toBe(30);
    expect(clock.timerCount).toBe(0);
  });

  it("ends after as many requests as there may be, and with the first failure", async () => {
    const limited = bench(() => 1, { limit: 7 });
    startConcurrentLoad(2, limited.context);
    await limited.clock.drain();
    expect(limited.completions).toHaveLength(7);

    const failing = bench(() => 1, { fails: 4 });
    const load = startConcurrentLoad(2, failing.context);
    await failing.clock.drain();
    await load.stop();
    expect(failing.failures).toEqual([new Error("failed")]);
    expect(failing.count()).toBeLessThanOrEqual(6);
  });

  it("sends sequences one step after the other, and ends those that are open", async () => {
    const { clock, context, sent } = bench(() => 1, { isSequence: true });
    const load = startConcurrentLoad(1, context);
    await clock.advance(3.5 * MS);
    await stopped(load, clock);
    expect(sent).toEqual(["1S", "1", "1E", "2S", "2E"]);
  });
});

describe("a load with a schedule", () => {
  it("sends when a request is due, whatever became of those before", async () => {
    const { clock, completions, context, peak } = bench(() => 100);
    const load = startScheduledLoad(arrivalsAt(100, "constant", seededRandom(1)), 0, context);
    await clock.advance(99 * MS);
    expect(peak()).toBe(10);
    await stopped(load, clock);
    expect(completions.map(({ startNs }) => startNs / MS)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    expect(
      completions.every(({ startNs, endNs, delayNs }) => endNs - startNs === 100 * MS && delayNs === 0),
    ).toBe(true);
  });

  it("counts from when a request was due where the clock came late", async () => {
    const { clock, completions, context } = bench(() => 1);
    // Woken only every 25 ms.
    const slow = {
      ...clock,
      after: (delayNs: number, wake: () => void) => clock.after(Math.ceil(delayNs / 25 / MS) * 25 * MS, wake),
    };
    const load = startScheduledLoad(arrivalsAt(100, "constant", seededRandom(1)), 0, {
      ...context,
      clock: slow,
    });
    await clock.advance(26 * MS);
    await stopped(load, clock);
    expect(
      completions.map(({ startNs, endNs, delayNs }) => [startNs / MS, endNs / MS, delayNs / MS]),
    ).toEqual([
      [0, 1, 0],
      [10, 26, 15],
      [20, 26, 5],
    ]);
  });

  it("lets requests of a sequence wait for each other, and counts the wait", async () => {
    const { clock, completions, context, sent } = bench(() => 30, { isSequence: true });
    const load = startScheduledLoad(arrivalsAfter([10 * MS]), 1, context);
    await clock.advance(95 * MS);
    // The fourth is on its way, and what was due after it is not sent any more.
    await stopped(load, clock);
    expect(sent).toEqual(["1S", "1", "1E", "2S", "2E"]);
    expect(completions.map(({ startNs, endNs }) => (endNs - startNs) / MS)).toEqual([30, 50, 70, 90, 30]);
    // A wait for the sequence is none of this client's.
    expect(completions.every(({ delayNs }) => delayNs === 0)).toBe(true);
  });

  it("gives each request to the sequence that has waited longest", async () => {
    const { clock, context, sent } = bench((n) => (n === 0 ? 1000 : 1), { isSequence: true });
    const load = startScheduledLoad(arrivalsAfter([10 * MS]), 2, context);
    await clock.advance(45 * MS);
    expect(sent).toEqual(["1S", "2S", "2", "2E", "3S"]);
    await stopped(load, clock);
  });

  it("holds back what a server that is too slow cannot take, and counts the wait and the delay", async () => {
    const { clock, completions, context, count, peak } = bench(() => 1000);
    // 10 times as many as 1024 in a second.
    const load = startScheduledLoad(arrivalsAfter([0.1 * MS]), 0, context);
    await clock.advance(1500 * MS);
    expect(peak()).toBe(1024);
    expect(count()).toBe(2 * 1024);
    await stopped(load, clock);
    expect(count()).toBe(2 * 1024);
    const [first, second] = [completions[0], completions[1024]];
    expect([first?.delayNs, (first?.endNs ?? 0) - (first?.startNs ?? 0)]).toEqual([0, 1000 * MS]);
    // Due after 102.4 ms, sent after a second.
    expect(second?.startNs).toBeCloseTo(102.4 * MS, 0);
    expect(second?.delayNs).toBeCloseTo(897.6 * MS, 0);
    expect(second?.endNs).toBeCloseTo(2000 * MS, 0);
  });

  it("does not stop for a server that holds one request up: what was due meanwhile tells of it", async () => {
    const { clock, completions, context } = bench((n) => (n === 0 ? 500 : 1));
    const blocked = { until: 500 * MS };
    const send = context.send;
    const load = startScheduledLoad(arrivalsAt(100, "constant", seededRandom(1)), 0, {
      ...context,
      // Nothing is answered before that moment.
      send: async (request) => {
        const timing = await send(request);
        const rest = blocked.until - clock.nowNs();
        if (rest > 0) await new Promise<void>((resolve) => clock.after(rest, resolve));
        return timing;
      },
    });
    await clock.advance(999 * MS);
    await stopped(load, clock);
    const slow = completions.filter(({ startNs, endNs }) => endNs - startNs > 100 * MS);
    expect(completions).toHaveLength(100);
    expect(slow.length).toBeGreaterThanOrEqual(40);
  });

  it("sends nothing after a failure", async () => {
    const { clock, context, count, failures } = bench(() => 1, { fails: 2 });
    const load = startScheduledLoad(arrivalsAt(100, "constant", seededRandom(1)), 0, context);
    await clock.advance(200 * MS);
    expect(failures).toHaveLength(1);
    expect(count()).toBeLessThan(5);
    await stopped(load, clock);
    expect(clock.timerCount).toBe(0);
  });
});

describe("arrivals", () => {
  it("come at the rate on average, evenly or as chance has it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer(), (rate, seed) => {
        const poisson = arrivalsAt(rate, "poisson", seededRandom(seed));
        const intervals = Array.from({ length: 4000 }, poisson);
        const mean = intervals.reduce((sum, interval) => sum + interval, 0) / intervals.length;
        expect(mean * rate).toBeGreaterThan(0.9e9);
        expect(mean * rate).toBeLessThan(1.1e9);
        expect(Math.min(...intervals)).toBeGreaterThanOrEqual(0);
      }),
      { seed: 2026, numRuns: 50 },
    );
    expect(arrivalsAt(4, "constant", seededRandom(1))()).toBe(250 * MS);
  });

  it("follow given intervals round and round", () => {
    const arrivals = arrivalsAfter([1, 2]);
    expect([arrivals(), arrivals(), arrivals()]).toEqual([1, 2, 1]);
  });
});
