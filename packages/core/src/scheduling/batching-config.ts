import type { ModelDynamicBatching, ModelQueuePolicy, ModelSignature } from "@naiad/model-config";
import { ModelQueuePolicy_TimeoutAction } from "@naiad/model-config";
import type { QueueConfig, QueuePolicy } from "./request-queue.ts";
import type { ValidRequest } from "./scheduler.ts";
import type { BatchingConfig } from "./select-batch.ts";

/** `batching` is normalised and valid. */
export function batchingConfig(batching: ModelDynamicBatching, signature: ModelSignature): BatchingConfig {
  return {
    maxBatchSize: Math.max(1, signature.maxBatchSize),
    preferredBatchSizes: batching.preferredBatchSize.toSorted((a, b) => a - b),
    maxQueueDelayNs: Number(batching.maxQueueDelayMicroseconds) * 1000,
  };
}

export function queueConfig(batching: ModelDynamicBatching): QueueConfig {
  return {
    priorityLevels: Number(batching.priorityLevels),
    defaultPriorityLevel: Number(batching.defaultPriorityLevel),
    defaultPolicy: queuePolicy(batching.defaultQueuePolicy),
    levelPolicies: new Map(
      Object.entries(batching.priorityQueuePolicy).map(([level, policy]) => [
        Number(level),
        queuePolicy(policy),
      ]),
    ),
  };
}

/** First come first served, without limits. */
export const PLAIN_QUEUE: QueueConfig = {
  priorityLevels: 0,
  defaultPriorityLevel: 0,
  defaultPolicy: queuePolicy(undefined),
  levelPolicies: new Map(),
};

function queuePolicy(policy: ModelQueuePolicy | undefined): QueuePolicy {
  return {
    timeoutAction: policy?.timeoutAction === ModelQueuePolicy_TimeoutAction.DELAY ? "delay" : "reject",
    defaultTimeoutNs: orInfinity(Number(policy?.defaultTimeoutMicroseconds ?? 0n) * 1000),
    allowTimeoutOverride: policy?.allowTimeoutOverride ?? false,
    maxQueueSize: orInfinity(policy?.maxQueueSize ?? 0),
  };
}

/** In Triton's configuration 0 stands for no limit. */
function orInfinity(limit: number): number {
  return limit === 0 ? Infinity : limit;
}

/**
 * Whether payloads may be formed while all instances are busy. Not so where a queued request can still expire, be
 * overtaken or count against a limit.
 */
export function allowsPrefetching(config: QueueConfig): boolean {
  const { defaultTimeoutNs, allowTimeoutOverride, maxQueueSize } = config.defaultPolicy;
  return (
    config.priorityLevels === 0 &&
    defaultTimeoutNs === Infinity &&
    !allowTimeoutOverride &&
    maxQueueSize === Infinity
  );
}

/**
 * What two requests must have in common to share a batch: the shapes, without batch dimension, of inputs that vary and
 * are not ragged, and which inputs are there at all where some are optional. `""` where any two may.
 */
export function shapeKeyOf(signature: ModelSignature): (request: ValidRequest) => string {
  const hasOptional = signature.inputs.some((input) => input.optional);
  const mustEqual = signature.inputs.map((input) => input.dims.includes(-1) && !input.allowRaggedBatch);
  if (!hasOptional && !mustEqual.includes(true)) return () => "";

  const indexOf = new Map(signature.inputs.map((input, index) => [input.name, index]));
  const batchDims = signature.maxBatchSize > 0 ? 1 : 0;
  return ({ inputs }) => {
    let key = "";
    for (const { name, shape } of inputs) {
      const index = indexOf.get(name) ?? -1;
      if (mustEqual[index] === true) key += `${index}:${shape.slice(batchDims).join()};`;
      else if (hasOptional) key += `${index};`;
    }
    return key;
  };
}
