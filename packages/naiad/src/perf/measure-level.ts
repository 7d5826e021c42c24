import { InferenceError } from "@naiad/protocol";
import { arrivalsAfter, arrivalsAt } from "./arrivals.ts";
import type { CompletionCounter } from "./completion-counter.ts";
import { createCompletionCounter } from "./completion-counter.ts";
import { decideWindows } from "./decide-windows.ts";
import type { LevelContext } from "./level-context.ts";
import type { Load, LoadContext } from "./load.ts";
import { startConcurrentLoad, startScheduledLoad } from "./load.ts";
import type { ClosedWindow, MeasuredWindow } from "./measured-window.ts";
import { openWindow } from "./measured-window.ts";
import type { ObservedWindow } from "./observed-window.ts";
import { figuresOf, lookAtServer, pairLooks, summarizeWindows } from "./observed-window.ts";
import type { PerfLevel } from "./perf-report.ts";
import { seededRandom } from "./random.ts";
import { watchMetrics } from "./server-metrics.ts";
import { watchForStall } from "./stall-watch.ts";
import { wait } from "./wait.ts";

/** Of a window that is filled by its number of requests. */
const SHORTEST_COUNT_WINDOW_NS = 1e9;

/** A server that hangs must not keep the measurement for ever; models that take minutes must not be taken for one. */
const STALL_LIMIT_NS = 300e9;

/** Puts one level of load on, measures until the rule is content, and takes the load off again. */
export function measureLevel(value: number, context: LevelContext): Promise<PerfLevel> {
  return context.rule.requestCount > 0 ? measureCounted(value, context) : measureWindows(value, context);
}

function measureWindows(value: number, context: LevelContext): Promise<PerfLevel> {
  const { rule } = context;
  return underLoad(value, context, Infinity, async (running) => {
    const { counter, ending } = running;
    await counter.reach(rule.warmupRequests, ending);
    const observed: ObservedWindow[] = [];
    for (;;) {
      const before = await lookAtServer(context, ending);
      running.open();
      const watch = watched(context, ending);
      await windowEnd(context, counter, ending);
      const window = running.close();
      const samples = await watch.stop();
      requireRequests(window);
      observed.push({ window, samples, looks: pairLooks(before, await lookAtServer(context, ending)) });
      const figures = observed.map((one) => figuresOf(one.window, context));
      context.onWindow(value, figuresOf(window, context));
      const decision = decideWindows(figures, rule);
      if (decision.kind === "more") continue;
      const last = observed.slice(-decision.windows);
      return { value, outcome: decision.kind, windows: figures, ...summarizeWindows(last, context) };
    }
  });
}

/** So many requests, and no others beside them. */
async function measureCounted(value: number, context: LevelContext): Promise<PerfLevel> {
  const { requestCount, warmupRequests } = context.rule;
  if (warmupRequests > 0) await runCounted(value, context, warmupRequests);
  const before = await lookAtServer(context, context.signal);
  const watch = watched(context, context.signal);
  const window = await runCounted(value, context, requestCount);
  const samples = await watch.stop();
  const observed = [
    { window, samples, looks: pairLooks(before, await lookAtServer(context, context.signal)) },
  ];
  const figures = figuresOf(window, context);
  context.onWindow(value, figures);
  return { value, outcome: "counted", windows: [figures], ...summarizeWindows(observed, context) };
}

function watched({ clock, metrics }: LevelContext, signal: AbortSignal): ReturnType<typeof watchMetrics> {
  if (metrics === undefined) return { stop: () => Promise.resolve([]) };
  return watchMetrics(metrics, clock, signal);
}

function runCounted(value: number, context: LevelContext, requests: number): Promise<ClosedWindow> {
  return underLoad(value, context, requests, async (running) => {
    await running.counter.reach(requests, running.ending);
    return running.close();
  });
}

/** What `measured` gives while so much load is on. Rejects as soon as a request has failed, and with its error. */
async function underLoad<Result>(
  value: number,
  context: LevelContext,
  limit: number,
  measured: (running: Running) => Promise<Result>,
): Promise<Result> {
  const running = run(value, context, limit);
  try {
    const result = await measured(running);
    await running.stop();
    return result;
  } catch (thrown) {
    // The end of the connections may have been noticed first, where a request that failed was the reason of it.
    const reason: unknown = running.ending.aborted ? running.ending.reason : thrown;
    running.fail(reason);
    await running.stop();
    throw reason;
  }
}

/** A load and the window that its answers go into. */
interface Running {
  readonly counter: CompletionCounter;
  /** Fires with the first failure, and with the measurement's own signal. */
  readonly ending: AbortSignal;
  open(): void;
  close(): ClosedWindow;
  /** Gives up what is on its way. */
  fail(reason: unknown): void;
  /** Waits for what is on its way. */
  stop(): Promise<void>;
}

function run(value: number, context: LevelContext, limit: number): Running {
  const { clock, keepMoments, signal, source, target } = context;
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const counter = createCompletionCounter();
  const fail = (reason: unknown): void => {
    failing.abort(reason);
  };
  const stalls = watchForStall(clock, STALL_LIMIT_NS, () => {
    const seconds = STALL_LIMIT_NS / 1e9;
    fail(new InferenceError("UNAVAILABLE", `no request was answered for ${seconds} seconds`));
  });
  let current = openWindow(clock, { keepMoments });
  const load = startLoad(value, context, {
    clock,
    source,
    limit,
    send: (request) => target.infer(request, ending),
    onSend: () => {
      stalls.sent();
      current.recordSend();
    },
    onCompletion: (completion) => {
      stalls.answered();
      current.record(completion);
      counter.add();
    },
    onFailure: fail,
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
    fail,
    stop: async () => {
      await load.stop();
      stalls.stop();
    },
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
  counter: CompletionCounter,
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
