import type { ModelStatistics } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { arrivalsAfter, arrivalsAt } from "./arrivals.ts";
import { decideWindows } from "./decide-windows.ts";
import type { Load, LoadContext } from "./load.ts";
import { startConcurrentLoad, startScheduledLoad } from "./load.ts";
import type { ClosedWindow, MeasuredWindow } from "./measured-window.ts";
import { mergeWindows, openWindow } from "./measured-window.ts";
import type { PerfModel } from "./perf-model.ts";
import type { PerfLevel } from "./perf-report.ts";
import { seededRandom } from "./random.ts";
import type { RequestSource } from "./request-source.ts";
import type { Measurement } from "./run-measurement.ts";
import { serverSplit } from "./server-split.ts";
import { untilAborted, wait } from "./wait.ts";

export interface LevelContext extends Measurement {
  readonly model: PerfModel;
  readonly source: RequestSource;
  /** Models whose statistics are told too. */
  readonly composing: readonly string[];
}

/** A window with what the server said before and after it, by model. */
interface ObservedWindow {
  readonly window: ClosedWindow;
  readonly looks: ReadonlyMap<string, { readonly before: ModelStatistics; readonly after: ModelStatistics }>;
}

/** Of a window that is filled by its number of requests. */
const SHORTEST_COUNT_WINDOW_NS = 1e9;

/** Puts one level of load on, measures until the rule is content, and takes the load off again. */
export function measureLevel(value: number, context: LevelContext): Promise<PerfLevel> {
  return context.rule.requestCount > 0 ? measureCounted(value, context) : measureWindows(value, context);
}

async function measureWindows(value: number, context: LevelContext): Promise<PerfLevel> {
  const { rule } = context;
  const running = run(value, context, Infinity);
  const { counter, ending } = running;
  try {
    await counter.reach(rule.warmupRequests, ending);
    const observed: ObservedWindow[] = [];
    for (;;) {
      const before = await looks(context, ending);
      running.open();
      await windowEnd(context, counter, ending);
      const window = running.close();
      observed.push({ window, looks: pairs(before, await looks(context, ending)) });
      requireRequests(window);
      const figures = observed.map((one) => figuresOf(one.window, context));
      context.onWindow(value, figuresOf(window, context));
      const decision = decideWindows(figures, rule);
      if (decision.kind === "more") continue;
      const last = observed.slice(-decision.windows);
      return { value, outcome: decision.kind, windows: figures, ...levelOf(last, context) };
    }
  } finally {
    await running.stop();
  }
}

/** So many requests, and no others beside them. */
async function measureCounted(value: number, context: LevelContext): Promise<PerfLevel> {
  const { requestCount, warmupRequests } = context.rule;
  if (warmupRequests > 0) await runCounted(value, context, warmupRequests);
  const before = await looks(context, context.signal);
  const window = await runCounted(value, context, requestCount);
  const observed = [{ window, looks: pairs(before, await looks(context, context.signal)) }];
  const figures = figuresOf(window, context);
  context.onWindow(value, figures);
  return { value, outcome: "counted", windows: [figures], ...levelOf(observed, context) };
}

async function runCounted(value: number, context: LevelContext, requests: number): Promise<ClosedWindow> {
  const running = run(value, context, requests);
  try {
    await running.counter.reach(requests, running.ending);
    return running.close();
  } finally {
    await running.stop();
  }
}

/** A load and the window that its answers go into. */
interface Running {
  readonly counter: Counter;
  /** Fires with the first failure, and with the measurement's own signal. */
  readonly ending: AbortSignal;
  open(): void;
  close(): ClosedWindow;
  stop(): Promise<void>;
}

function run(value: number, context: LevelContext, limit: number): Running {
  const { clock, keepMoments, signal, source, target } = context;
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const counter = createCounter();
  let current = openWindow(clock, { keepMoments });
  const load = startLoad(value, context, {
    clock,
    source,
    limit,
    send: (request) => target.infer(request, ending),
    onCompletion: (completion) => {
      current.record(completion);
      counter.add();
    },
    onFailure: (thrown) => {
      failing.abort(thrown);
    },
  });
  return {
    counter,
    ending,
    open: () => {
      current = openWindow(clock, { keepMoments });
    },
    close: () => {
      const closed = current.close();
      // What comes between two windows counts in neither.
      current = openWindow(clock, { keepMoments: false });
      return closed;
    },
    stop: () => load.stop(),
  };
}

function startLoad(value: number, { load, model, sequences }: LevelContext, context: LoadContext): Load {
  const slots = model.isSequence ? sequences.count : 0;
  switch (load.kind) {
    case "concurrency":
      return startConcurrentLoad(value, context);
    case "request-rate":
      return startScheduledLoad(arrivalsAt(value, load.distribution, seededRandom(value)), slots, context);
    case "intervals":
      return startScheduledLoad(arrivalsAfter(load.intervalsNs), slots, context);
  }
}

async function windowEnd(
  { clock, rule }: LevelContext,
  counter: Counter,
  signal: AbortSignal,
): Promise<void> {
  if (rule.window.kind === "time") {
    await wait(clock, rule.window.durationNs, signal);
  } else {
    const until = counter.count + rule.window.requests;
    await wait(clock, SHORTEST_COUNT_WINDOW_NS, signal);
    await counter.reach(until, signal);
  }
}

function requireRequests({ requests, durationNs }: MeasuredWindow): void {
  if (requests > 0) return;
  throw new InferenceError(
    "UNAVAILABLE",
    `no request was answered within a window of ${Math.round(durationNs / 1e6)} msec: it must be longer`,
  );
}

type Looks = ReadonlyMap<string, ModelStatistics>;

async function looks({ composing, model, target }: LevelContext, signal: AbortSignal): Promise<Looks> {
  const found = new Map<string, ModelStatistics>();
  for (const name of [model.name, ...composing]) {
    const statistics = await target.modelStatistics(name);
    signal.throwIfAborted();
    if (statistics !== undefined) found.set(name, statistics);
  }
  return found;
}

function pairs(before: Looks, after: Looks): ObservedWindow["looks"] {
  return new Map(
    [...before].flatMap(([name, first]) => {
      const second = after.get(name);
      return second === undefined ? [] : [[name, { before: first, after: second }] as const];
    }),
  );
}

function figuresOf(
  window: MeasuredWindow,
  { data, rule }: LevelContext,
): { readonly inferencesPerSecond: number; readonly latencyNs: number } {
  return {
    inferencesPerSecond: perSecond(window.requests * data.batchSize, window),
    latencyNs:
      rule.percentile === undefined ? window.latency.meanNs : window.latency.atPercentile(rule.percentile),
  };
}

function levelOf(
  observed: readonly ObservedWindow[],
  context: LevelContext,
): Omit<PerfLevel, "value" | "outcome" | "windows"> {
  const { composing, model } = context;
  const merged = mergeWindows(observed.map(({ window }) => window));
  const { latency } = merged;
  const splitOf = (name: string, version: string) => {
    const seen = observed.flatMap((one) => one.looks.get(name) ?? []);
    return seen.length < observed.length ? undefined : serverSplit(seen, name, version);
  };
  const server = splitOf(model.name, model.version);
  return {
    requests: merged.requests,
    responses: merged.responses,
    durationNs: merged.durationNs,
    inferencesPerSecond: figuresOf(merged, context).inferencesPerSecond,
    responsesPerSecond: perSecond(merged.responses, merged),
    latency: {
      meanNs: latency.meanNs,
      stdDevNs: latency.stdDevNs,
      p50Ns: latency.atPercentile(50),
      p90Ns: latency.atPercentile(90),
      p95Ns: latency.atPercentile(95),
      p99Ns: latency.atPercentile(99),
      maxNs: latency.atPercentile(100),
      judgedNs: figuresOf(merged, context).latencyNs,
    },
    ...(merged.phases !== undefined && { phases: merged.phases }),
    delayedRequests: merged.delayed,
    ...(server !== undefined && { server }),
    composing: Object.fromEntries(
      composing.flatMap((name) => {
        const split = splitOf(name, "");
        return split === undefined ? [] : [[name, split] as const];
      }),
    ),
    moments: merged.moments,
  };
}

function perSecond(count: number, { durationNs }: MeasuredWindow): number {
  return durationNs === 0 ? 0 : count / (durationNs / 1e9);
}

/** Counts completions, and lets one at a time wait for a number of them. */
interface Counter {
  readonly count: number;
  add(): void;
  reach(count: number, signal: AbortSignal): Promise<void>;
}

function createCounter(): Counter {
  let count = 0;
  let waiting: { readonly count: number; readonly resolve: () => void } | undefined;
  return {
    get count() {
      return count;
    },
    add: () => {
      count += 1;
      if (waiting === undefined || count < waiting.count) return;
      const { resolve } = waiting;
      waiting = undefined;
      resolve();
    },
    reach: async (wanted, signal) => {
      if (count >= wanted) return;
      await untilAborted(signal, (resolve) => {
        waiting = { count: wanted, resolve };
        return () => {
          waiting = undefined;
        };
      });
    },
  };
}
