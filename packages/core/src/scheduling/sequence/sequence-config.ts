import type { ModelSequenceBatching, ModelSignature } from "@naiad/model-config";
import type { BatchingConfig } from "../select-batch.ts";
import type { DirectConfig } from "./direct-batch.ts";

/** What a sequence batcher is configured with, in plain numbers. */
export interface SequenceConfig {
  /** A sequence of which nothing is queued or executed for this long loses its slot. */
  readonly maxIdleNs: number;
  /** Sequences that one instance can hold. */
  readonly slotsPerInstance: number;
  readonly strategy: SequenceStrategy;
  /** A request without a correlation id is a sequence of its own, which the model may have executed again. */
  readonly isIterative: boolean;
}

export type SequenceStrategy =
  | { readonly kind: "direct"; readonly config: DirectConfig }
  | { readonly kind: "oldest"; readonly config: BatchingConfig; readonly preserveOrdering: boolean };

/** `batching` is normalised and valid. */
export function sequenceConfig(
  batching: ModelSequenceBatching,
  { maxBatchSize }: Pick<ModelSignature, "maxBatchSize">,
): SequenceConfig {
  const { strategyChoice } = batching;
  const rows = Math.max(1, maxBatchSize);
  const common = {
    maxIdleNs: Number(batching.maxSequenceIdleMicroseconds) * 1000,
    isIterative: batching.iterativeSequence,
  };
  switch (strategyChoice.case) {
    case "oldest": {
      const { maxCandidateSequences, preferredBatchSize, maxQueueDelayMicroseconds, preserveOrdering } =
        strategyChoice.value;
      const config = {
        maxBatchSize: rows,
        preferredBatchSizes: preferredBatchSize.toSorted((a, b) => a - b),
        maxQueueDelayNs: Number(maxQueueDelayMicroseconds) * 1000,
      };
      return {
        ...common,
        slotsPerInstance: maxCandidateSequences > 0 ? maxCandidateSequences : rows,
        strategy: { kind: "oldest", config, preserveOrdering },
      };
    }
    case "direct":
    case undefined: {
      const config = {
        slotCount: rows,
        maxQueueDelayNs: Number(strategyChoice.value?.maxQueueDelayMicroseconds ?? 0n) * 1000,
        minimumSlotUtilization: strategyChoice.value?.minimumSlotUtilization ?? 0,
      };
      return { ...common, slotsPerInstance: rows, strategy: { kind: "direct", config } };
    }
  }
}
