import type { WatchdogLimits } from "@naiad/protocol";
import type { InstanceHostContract } from "../contracts.ts";
import type { WorkerWait } from "./worker-services.ts";

/**
 * What a worker owes its host, as pure state. The clock of an operation starts when the worker reports that it began,
 * since many calls may stand in line there. An execution that finds an idle worker begins at once and is not reported: that
 * would be one more message for each request of a quiet server. While calls wait and nothing runs, the worker has the time
 * of the call at the head to begin: one whose event loop has stopped reports nothing at all.
 */
export interface WorkerWatch {
  /** Calls without an answer, oldest first. */
  readonly owed: readonly OwedCall[];
  readonly running?: RunningOperation;
  /** What the worker itself waits for: answers of the host. */
  readonly waits: readonly WorkerWait[];
  /** When the worker last began or finished something, or got its first call. */
  readonly sinceNs: number;
}

export interface OwedCall {
  readonly instanceId: string;
  readonly kind: "start" | "create" | "execute" | "read" | "release";
  readonly limits: WatchdogLimits;
}

export type WorkerOperation = InstanceHostContract["notes"]["operation"]["operation"];

interface RunningOperation {
  readonly instanceId: string;
  readonly operation: WorkerOperation;
  readonly limits: WatchdogLimits;
}

export type WatchEvent =
  /** The worker asked the host for something, or has its answer. */
  | { readonly kind: "waits" | "heard"; readonly wait: WorkerWait }
  | { readonly kind: "posted"; readonly call: OwedCall }
  | { readonly kind: "began"; readonly instanceId: string; readonly operation: WorkerOperation }
  | { readonly kind: "answered"; readonly call: OwedCall }
  /** The host itself stood still (a suspended machine, a frozen tab), and the worker with it. */
  | { readonly kind: "suspended"; readonly ns: number };

export const IDLE_WATCH: WorkerWatch = { owed: [], waits: [], sinceNs: 0 };

export function watch(state: WorkerWatch, event: WatchEvent, nowNs: number): WorkerWatch {
  switch (event.kind) {
    case "posted": {
      const { call } = event;
      const owed = [...state.owed, call];
      if (state.owed.length > 0 || state.running !== undefined) return { ...state, owed };
      const { waits } = state;
      if (call.kind !== "execute") return { owed, waits, sinceNs: nowNs };
      const { instanceId, limits } = call;
      return { owed, waits, running: { instanceId, operation: "run", limits }, sinceNs: nowNs };
    }
    case "began": {
      const call = state.owed.find(({ instanceId }) => instanceId === event.instanceId);
      // Nobody waits for it any more, so nobody could be told.
      if (call === undefined) return state;
      const { instanceId, operation } = event;
      const running: RunningOperation = { instanceId, operation, limits: call.limits };
      return { ...state, running, sinceNs: nowNs };
    }
    case "answered": {
      const { call } = event;
      // A release is the last thing of an instance: what was owed before it has been done or given up.
      const owed = state.owed.filter((other) =>
        call.kind === "release" ? other.instanceId !== call.instanceId : other !== call,
      );
      const { running, waits } = state;
      if (running !== undefined && running.instanceId !== call.instanceId) return { ...state, owed };
      return { owed, waits, sinceNs: nowNs };
    }
    case "waits":
      return { ...state, waits: [...state.waits, event.wait], sinceNs: nowNs };
    case "heard": {
      const index = state.waits.indexOf(event.wait);
      return { ...state, waits: state.waits.filter((_, other) => other !== index), sinceNs: nowNs };
    }
    case "suspended":
      return { ...state, sinceNs: Math.min(nowNs, state.sinceNs + event.ns) };
  }
}

/** Until when the worker must show progress, and what it failed at if it does not. */
export interface WatchDeadline {
  readonly atNs: number;
  readonly reason: string;
  /** The instance whose operation was running; absent when none is known to have begun. */
  readonly culprit?: string;
}

/** `undefined` while nothing is owed or its time is unlimited. */
export function watchDeadline(state: WorkerWatch): WatchDeadline | undefined {
  const { running, waits, sinceNs } = state;
  if (running !== undefined && waits.length > 0) return waitDeadline(running, state);
  if (running !== undefined) {
    const limitMs = operationLimitMs(running.operation, running.limits);
    if (limitMs <= 0) return undefined;
    return {
      atNs: sinceNs + limitMs * 1e6,
      reason: `${OPERATION_TEXT[running.operation]} did not end within ${limitMs} ms`,
      culprit: running.instanceId,
    };
  }
  const [head] = state.owed;
  if (head === undefined) return undefined;
  const limitMs = callLimitMs(head);
  if (limitMs <= 0) return undefined;
  const reason = head.kind === "start" ? "it did not start" : "it did not begin what it was asked for";
  return { atNs: sinceNs + limitMs * 1e6, reason: `${reason} within ${limitMs} ms` };
}

/**
 * Another model's time is not the worker's own, but a model that waits for itself waits for ever. Loads have limits where
 * they happen.
 */
function waitDeadline(
  { instanceId, limits }: RunningOperation,
  state: WorkerWatch,
): WatchDeadline | undefined {
  if (state.waits.includes("model") || limits.createMs <= 0) return undefined;
  return {
    atNs: state.sinceNs + limits.createMs * 1e6,
    reason: `it waited for another model for ${limits.createMs} ms`,
    culprit: instanceId,
  };
}

const OPERATION_TEXT: Readonly<Record<WorkerOperation, string>> = {
  create: "loading a model",
  "first-run": "the first execution of a model",
  run: "an execution",
  release: "unloading a model",
};

function operationLimitMs(operation: WorkerOperation, limits: WatchdogLimits): number {
  switch (operation) {
    case "create":
    case "release":
      return limits.createMs;
    case "first-run":
      return limits.firstRunMs;
    case "run":
      return limits.runMs;
  }
}

function callLimitMs({ kind, limits }: OwedCall): number {
  if (kind !== "execute") return limits.createMs;
  // Which of the two it is to be, only the worker knows. No limit on one is none on the wait.
  return Math.min(limits.firstRunMs, limits.runMs) <= 0 ? 0 : Math.max(limits.firstRunMs, limits.runMs);
}
