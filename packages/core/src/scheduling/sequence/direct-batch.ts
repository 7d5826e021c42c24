import type { BatchLimit } from "../../statistics/model-statistics.ts";

/**
 * The policy of the sequence batcher's strategy `direct`: row i of a batch is the sequence in slot i. It reads and
 * decides; `sequence-batcher.ts` carries the decision out.
 */

export interface DirectConfig {
  /** At least 1. */
  readonly slotCount: number;
  /** Only together do these two make an execution wait: for so long at most, or until so many slots are ready. */
  readonly maxQueueDelayNs: number;
  readonly minimumSlotUtilization: number;
}

/** The next request of a sequence. */
export interface DirectCandidate {
  readonly enqueueNs: number;
  /** Requests with different keys cannot share a batch. */
  readonly shapeKey: string;
}

export type DirectDecision<Candidate> =
  /** No slot has a request. */
  | { readonly kind: "idle" }
  /** Ask again at `untilNs`, or when something has come. */
  | { readonly kind: "wait"; readonly untilNs: number }
  /** By slot; `undefined` where the slot has no request, or one that does not fit in, and its row is filled. */
  | {
      readonly kind: "dispatch";
      readonly rows: readonly (Candidate | undefined)[];
      readonly limit: BatchLimit;
    };

/** `ready`: the request of each slot that can be executed now, by slot. */
export function formDirectBatch<Candidate extends DirectCandidate>(
  ready: readonly (Candidate | undefined)[],
  config: DirectConfig,
  nowNs: number,
): DirectDecision<Candidate> {
  const { slotCount, maxQueueDelayNs, minimumSlotUtilization } = config;
  let oldest: Candidate | undefined;
  let readyCount = 0;
  let highest = -1;
  for (const [slot, candidate] of ready.entries()) {
    if (candidate === undefined) continue;
    if (oldest === undefined || candidate.enqueueNs < oldest.enqueueNs) oldest = candidate;
    readyCount += 1;
    highest = slot;
  }
  if (oldest === undefined) return { kind: "idle" };

  // Its shape is that of the batch, so that no sequence waits for ever behind those of another shape.
  const { enqueueNs: oldestNs, shapeKey } = oldest;
  const waits = maxQueueDelayNs > 0 && minimumSlotUtilization > 0;
  const isUtilized = readyCount / slotCount >= minimumSlotUtilization;
  const untilNs = oldestNs + maxQueueDelayNs;
  if (waits && !isUtilized && nowNs < untilNs) return { kind: "wait", untilNs };

  const rows = ready
    .slice(0, highest + 1)
    .map((candidate) => (candidate?.shapeKey === shapeKey ? candidate : undefined));
  const fitting = rows.filter((row) => row !== undefined).length;
  return { kind: "dispatch", rows, limit: limitOf() };

  function limitOf(): BatchLimit {
    if (fitting === slotCount) return slotCount === 1 ? "not_batching" : "full";
    if (fitting < readyCount) return "shape";
    if (waits) return isUtilized ? "preferred_batch_size" : "queue_empty";
    return oldestNs < nowNs ? "instance_busy" : "no_delay";
  }
}
