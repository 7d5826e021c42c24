import type { MemoryModel } from "@naiad/testing";
import { tensorConfigs } from "@naiad/testing";

interface ModelText {
  readonly inputs: string;
  readonly outputs: string;
  readonly maxBatchSize?: number;
  /** Added to the configuration. */
  readonly config?: string;
  readonly files?: MemoryModel;
}

/** A model of the fake backend, whose outputs are copies of its inputs in their order. Tensors as `name TYPE [dims]`. */
export function fakeModel({
  inputs,
  outputs,
  maxBatchSize = 0,
  config = "",
  files = {},
}: ModelText): MemoryModel {
  return {
    "config.pbtxt": [
      'backend: "fake"',
      `max_batch_size: ${String(maxBatchSize)}`,
      ...tensorConfigs("input", inputs),
      ...tensorConfigs("output", outputs),
      config,
    ].join("\n"),
    "1/model.fake": "",
    ...files,
  };
}

/** One input and one output of the same type and dims. */
export function identityModel(type: string, dims: string, more: Partial<ModelText> = {}): MemoryModel {
  return fakeModel({ inputs: `INPUT0 ${type} ${dims}`, outputs: `OUTPUT0 ${type} ${dims}`, ...more });
}
