import type { InstanceRequest, Logger, ModelInstance } from "../ports.ts";
import { InferenceError } from "@naiad/protocol";
import { collectWarmUpResponses } from "./warm-up-responses.ts";
import type { WarmUpSample } from "./warm-up-samples.ts";

export interface WarmUpOptions {
  readonly samples: readonly WarmUpSample[];
  readonly modelName: string;
  readonly instanceName: string;
  readonly maxBatchSize: number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Executes the samples on the instance itself, past its scheduler and statistics. When one fails, or `signal` fires, the
 * instance is disposed and the result rejects.
 */
export async function warmUp(instance: ModelInstance, options: WarmUpOptions): Promise<void> {
  try {
    for (const sample of options.samples) await runSample(instance, sample, options);
  } catch (thrown) {
    await instance.dispose();
    throw thrown;
  }
}

async function runSample(
  instance: ModelInstance,
  { name, count, requests }: WarmUpSample,
  options: WarmUpOptions,
): Promise<void> {
  const { modelName, instanceName, logger, signal } = options;
  for (let iteration = 1; iteration <= count; iteration += 1) {
    signal.throwIfAborted();
    logger.log(
      "verbose",
      `model '${modelName}' instance ${instanceName} is running warmup sample '${name}' for iteration ${iteration}`,
    );
    const failures = await failuresOf(instance, requests, options);
    signal.throwIfAborted();
    if (failures.length === 0) continue;
    throw new InferenceError(
      "INVALID_ARG",
      `failed to run warmup sample '${name}': ${failures.map((failure) => `${failure}; `).join("")}`,
    );
  }
}

/** One text for each request that failed. */
async function failuresOf(
  instance: ModelInstance,
  requests: readonly InstanceRequest[],
  { instanceName, maxBatchSize, signal }: WarmUpOptions,
): Promise<readonly string[]> {
  // What backends of Triton say. Schedulers never form such a batch.
  if (requests.length > Math.max(1, maxBatchSize)) {
    const message = `batch size ${requests.length} for '${instanceName}', max allowed is ${maxBatchSize}`;
    return requests.map(() => message);
  }
  const responses = collectWarmUpResponses(instance, requests.length, signal);
  const result = await instance.execute(requests, responses.context);
  if (result.kind === "lost") return [`the instance was lost: ${result.reason}`];
  const { outcomes } = result;
  const own = outcomes.flatMap((outcome) => (outcome.kind === "error" ? [outcome.error.message] : []));
  return [...own, ...(await responses.failures(outcomes))];
}
