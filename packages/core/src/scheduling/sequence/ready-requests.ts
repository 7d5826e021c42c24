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
  add(slotIndex: number, request: QueuedRequest): void;
  remove(slotIndex: number, request: QueuedRequest): void;
  readonly isEmpty: boolean;
  /** The requests of a dispatch are no longer here. */
  take(nowNs: number): DirectDecision<QueuedRequest>;
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

/** In the order in which they came, whatever sequence they belong to: a dynamic batcher over one request of each. */
function oldestRequests(config: BatchingConfig): ReadyRequests {
  const queue = new RequestQueue(PLAIN_QUEUE);
  return {
    add: (_slotIndex, request) => {
      queue.push(request);
    },
    remove: (_slotIndex, request) => {
      queue.remove(request);
    },
    take: (nowNs) => {
      const decision = selectBatch(queue, NO_PAYLOAD, config, nowNs);
      switch (decision.kind) {
        case "idle":
          return decision;
        case "wait":
          queue.pending = decision.pending;
          return { kind: "wait", untilNs: decision.untilNs };
        case "dispatch":
          return { kind: "dispatch", rows: queue.shift(decision.count), limit: decision.limit };
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
