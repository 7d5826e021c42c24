import { unreachable } from "@naiad/protocol";
import { PLAIN_QUEUE } from "../batching-config.ts";
import type { QueuedRequest } from "../queued-request.ts";
import { RequestQueue } from "../request-queue.ts";
import type { BatchingConfig } from "../select-batch.ts";
import { selectBatch } from "../select-batch.ts";
import type { DirectConfig, DirectDecision } from "./direct-batch.ts";
import { formDirectBatch } from "./direct-batch.ts";
import type { SequenceStrategy } from "./sequence-config.ts";

/** What the sequences of one instance could have executed now: at most one request of each. */
export interface ReadyRequests {
  /** `starts`: its sequence begins with it. */
  add(slotIndex: number, request: QueuedRequest, step: { readonly starts: boolean }): void;
  remove(slotIndex: number, request: QueuedRequest): void;
  readonly isEmpty: boolean;
  /** The requests of a dispatch are no longer here. `runningCount`: how many sequences the instance has in its slots. */
  take(nowNs: number, instance: { readonly runningCount: number }): DirectDecision<QueuedRequest>;
}

export function createReadyRequests(strategy: SequenceStrategy): ReadyRequests {
  switch (strategy.kind) {
    case "direct":
      return directRequests(strategy.config);
    case "oldest":
      return oldestRequests(strategy.config);
    default:
      return unreachable(strategy);
  }
}

function directRequests(config: DirectConfig): ReadyRequests {
  const bySlot: (QueuedRequest | undefined)[] = new Array<undefined>(config.slotCount).fill(undefined);
  return {
    add: (slotIndex, request) => {
      bySlot[slotIndex] = request;
    },
    remove: (slotIndex, request) => {
      if (bySlot[slotIndex] === request) bySlot[slotIndex] = undefined;
    },
    take: (nowNs) => {
      const decision = formDirectBatch(bySlot, config, nowNs);
      if (decision.kind === "dispatch") {
        for (const [slotIndex, request] of decision.rows.entries()) {
          if (request !== undefined) bySlot[slotIndex] = undefined;
        }
      }
      return decision;
    },
    get isEmpty() {
      return bySlot.every((request) => request === undefined);
    },
  };
}

const NO_PAYLOAD = { rows: 0, shapeKey: "" };

/**
 * In the order in which they came, whatever sequence they belong to: a dynamic batcher over one request of each. Its delay
 * is for the sequences that have no request here yet. Where there are none, and none has just begun, which others might
 * do too, nothing is waited for: a single stream would pay the delay at every step.
 */
function oldestRequests(config: BatchingConfig): ReadyRequests {
  const queue = new RequestQueue(PLAIN_QUEUE);
  const starting = new Set<QueuedRequest>();
  const shift = (count: number): readonly QueuedRequest[] => {
    const requests = queue.shift(count);
    for (const request of requests) starting.delete(request);
    return requests;
  };
  return {
    add: (_slotIndex, request, { starts }) => {
      queue.push(request);
      if (starts) starting.add(request);
    },
    remove: (_slotIndex, request) => {
      queue.remove(request);
      starting.delete(request);
    },
    take: (nowNs, { runningCount }) => {
      const decision = selectBatch(queue, NO_PAYLOAD, config, nowNs);
      switch (decision.kind) {
        case "idle":
          return decision;
        case "wait":
          if (starting.size === 0 && queue.size === runningCount) {
            return { kind: "dispatch", rows: shift(queue.size), limit: "queue_empty" };
          }
          queue.pending = decision.pending;
          return { kind: "wait", untilNs: decision.untilNs };
        case "dispatch":
          return { kind: "dispatch", rows: shift(decision.count), limit: decision.limit };
        case "close":
          throw new Error("a batch that nothing was put into cannot be closed");
        default:
          return unreachable(decision);
      }
    },
    get isEmpty() {
      return queue.size === 0;
    },
  };
}
