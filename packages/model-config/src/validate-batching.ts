import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig, ModelDynamicBatching, ModelQueuePolicy } from "./gen/model_config_pb.ts";
import { ModelQueuePolicy_TimeoutAction as TimeoutAction } from "./gen/model_config_pb.ts";

/** Preferred sizes, priorities and queue policies of the dynamic batcher. */
export function validateDynamicBatching(config: ModelConfig): readonly ConfigIssue[] {
  if (config.schedulingChoice.case !== "dynamicBatching") return [];
  const batching = config.schedulingChoice.value;
  return [
    ...validatePreferredSizes(config, batching),
    ...validatePriorities(config.name, batching),
    ...validateOrdering(config.name, batching),
  ];
}

function validatePreferredSizes(config: ModelConfig, batching: ModelDynamicBatching): readonly ConfigIssue[] {
  const path = "dynamic_batching.preferred_batch_size";
  return batching.preferredBatchSize.flatMap((size) => {
    if (size <= 0)
      return [invalid(path, `dynamic batching preferred size must be positive for ${config.name}`)];
    if (size <= config.maxBatchSize) return [];
    return [invalid(path, `dynamic batching preferred size must be <= max batch size for ${config.name}`)];
  });
}

function validatePriorities(modelName: string, batching: ModelDynamicBatching): readonly ConfigIssue[] {
  const levels = batching.priorityLevels;
  if (levels === 0n) return [];
  const isLevel = (level: bigint): boolean => level >= 1n && level <= levels;
  const range = `in range [1, ${levels}] for ${modelName}`;
  const issues: ConfigIssue[] = [];
  if (!isLevel(batching.defaultPriorityLevel)) {
    issues.push(
      invalid("dynamic_batching.default_priority_level", `default priority level must be ${range}`),
    );
  }
  if (!Object.keys(batching.priorityQueuePolicy).every((level) => isLevel(BigInt(level)))) {
    issues.push(
      invalid(
        "dynamic_batching.priority_queue_policy",
        `priority queue policy must have priority level ${range}`,
      ),
    );
  }
  return issues;
}

/** `preserve_ordering` allows neither priorities nor requests that are put back. */
function validateOrdering(modelName: string, batching: ModelDynamicBatching): readonly ConfigIssue[] {
  if (!batching.preserveOrdering) return [];
  const issues: ConfigIssue[] = [];
  if (batching.priorityLevels > 1n) {
    issues.push(
      invalid(
        "dynamic_batching.priority_levels",
        `Only one priority level is allowed when 'preserve_ordering' is true for ${modelName}`,
      ),
    );
  }
  const policies = [batching.defaultQueuePolicy, ...Object.values(batching.priorityQueuePolicy)];
  if (policies.some(delaysRequests)) {
    issues.push(
      invalid(
        "dynamic_batching",
        `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${modelName}`,
      ),
    );
  }
  return issues;
}

function delaysRequests(policy: ModelQueuePolicy | undefined): boolean {
  return policy?.timeoutAction === TimeoutAction.DELAY && policy.defaultTimeoutMicroseconds !== 0n;
}
