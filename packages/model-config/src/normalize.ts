import { clone, create } from "@bufbuild/protobuf";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import {
  ModelConfigSchema,
  ModelOptimizationPolicy_PinnedMemoryBufferSchema,
  ModelOptimizationPolicySchema,
  ModelVersionPolicySchema,
} from "./gen/model_config_pb.ts";

const DEFAULT_SEQUENCE_IDLE_US = 1_000_000n;

/**
 * The defaults that `/config` shows and that do not depend on the machine: version policy, preferred batch sizes, idle
 * time of sequences, pinned memory (not for ensembles). Needed again after auto-complete. Idempotent.
 * Instance groups have their own: `normalizeInstanceGroups`.
 */
export function normalizeConfig(config: ModelConfig): ModelConfig {
  const normalized = clone(ModelConfigSchema, config);
  normalized.versionPolicy ??= create(ModelVersionPolicySchema, {
    policyChoice: { case: "latest", value: { numVersions: 1 } },
  });
  normalizeScheduling(normalized);
  if (normalized.schedulingChoice.case !== "ensembleScheduling") {
    const optimization = (normalized.optimization ??= create(ModelOptimizationPolicySchema));
    optimization.inputPinnedMemory ??= enabledBuffer();
    optimization.outputPinnedMemory ??= enabledBuffer();
  }
  return normalized;
}

function enabledBuffer(): NonNullable<NonNullable<ModelConfig["optimization"]>["inputPinnedMemory"]> {
  return create(ModelOptimizationPolicy_PinnedMemoryBufferSchema, { enable: true });
}

function normalizeScheduling({ schedulingChoice, maxBatchSize }: ModelConfig): void {
  switch (schedulingChoice.case) {
    case "dynamicBatching":
      preferWholeBatch(schedulingChoice.value, maxBatchSize);
      return;
    case "sequenceBatching": {
      const batching = schedulingChoice.value;
      batching.maxSequenceIdleMicroseconds ||= DEFAULT_SEQUENCE_IDLE_US;
      if (batching.strategyChoice.case === "oldest")
        preferWholeBatch(batching.strategyChoice.value, maxBatchSize);
      return;
    }
    case "ensembleScheduling":
    case undefined:
  }
}

function preferWholeBatch(batching: { readonly preferredBatchSize: number[] }, maxBatchSize: number): void {
  if (batching.preferredBatchSize.length === 0 && maxBatchSize > 0)
    batching.preferredBatchSize.push(maxBatchSize);
}
