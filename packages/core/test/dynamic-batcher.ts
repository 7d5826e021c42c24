import type { SchedulerFixture, SchedulerFixtureOptions } from "@naiad/testing";
import { createSchedulerFixture } from "@naiad/testing";

const MS = 1_000_000;

function dynamicBatchingConfig(options: {
  readonly maxBatchSize?: number;
  readonly batching?: string;
  readonly dims?: string;
  readonly inputs?: string;
}): string {
  const { maxBatchSize = 8, batching = "", dims = "1" } = options;
  const inputs = options.inputs ?? `input { name: "X" data_type: TYPE_FP32 dims: [${dims}] }`;
  return `
    name: "m" backend: "fake" max_batch_size: ${maxBatchSize}
    ${inputs}
    output { name: "Y" data_type: TYPE_FP32 dims: [-1] }
    dynamic_batching { ${batching} }`;
}

/** A model `m` with a dynamic batcher. Executions take 10 ms unless a test says otherwise. */
export function startDynamicBatcher(
  model: Parameters<typeof dynamicBatchingConfig>[0],
  options: Partial<SchedulerFixtureOptions> = {},
): Promise<SchedulerFixture> {
  return createSchedulerFixture({ latencyNs: 10 * MS, ...options, config: dynamicBatchingConfig(model) });
}
