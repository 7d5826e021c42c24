import type { Datatype } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { configDatatype } from "./config-datatype.ts";
import type { ModelConfig, ModelInput, ModelOutput } from "./gen/model_config_pb.ts";

/** What a request is held against: the configuration in plain numbers. */
export interface ModelSignature {
  readonly name: string;
  /** 0: shapes are whole; otherwise every shape has a batch dimension in front that `dims` leaves out. */
  readonly maxBatchSize: number;
  readonly inputs: readonly InputSignature[];
  readonly outputs: readonly OutputSignature[];
  /** A request may have any number of responses. */
  readonly decoupled: boolean;
  readonly priority: PrioritySignature;
}

export interface TensorSignature {
  readonly name: string;
  readonly datatype: Datatype;
  /** As the client sees it; -1 is any size. */
  readonly dims: readonly number[];
  /** As the model sees it, where that differs; empty for a scalar. */
  readonly reshape?: readonly number[];
}

export interface InputSignature extends TensorSignature {
  readonly optional: boolean;
  readonly allowRaggedBatch: boolean;
  readonly isShapeTensor: boolean;
}

export interface OutputSignature extends TensorSignature {
  /** File in the model's directory, `""` for none. */
  readonly labelFilename: string;
}

/** Levels run from 1, the highest; 0 levels: requests have no priorities. An ensemble passes any level on. */
export interface PrioritySignature {
  readonly levels: number;
  readonly defaultLevel: number;
}

/** `config` is valid. INVALID_ARG for sizes beyond 2^53, which no tensor can have. */
export function modelSignature(config: ModelConfig): ModelSignature {
  return {
    name: config.name,
    maxBatchSize: config.maxBatchSize,
    inputs: config.input.map((input) => ({
      ...tensorSignature(input),
      optional: input.optional,
      allowRaggedBatch: input.allowRaggedBatch,
      isShapeTensor: input.isShapeTensor,
    })),
    outputs: config.output.map((output) => ({
      ...tensorSignature(output),
      labelFilename: output.labelFilename,
    })),
    decoupled: config.modelTransactionPolicy?.decoupled ?? false,
    priority: prioritySignature(config),
  };
}

function tensorSignature(tensor: ModelInput | ModelOutput): TensorSignature {
  const { name, reshape } = tensor;
  return {
    name,
    datatype: configDatatype(tensor.dataType),
    dims: tensor.dims.map((dim) => toSize(name, dim)),
    ...(reshape === undefined ? {} : { reshape: reshape.shape.map((dim) => toSize(name, dim)) }),
  };
}

/** A size of a configuration as a number; INVALID_ARG for one beyond 2^53, which no tensor can have. */
export function toSize(tensorName: string, dim: bigint): number {
  const size = Number(dim);
  if (Number.isSafeInteger(size)) return size;
  throw new InferenceError(
    "INVALID_ARG",
    `tensor '${tensorName}' has a dimension of ${dim}, which is too large`,
  );
}

function prioritySignature({ schedulingChoice }: ModelConfig): PrioritySignature {
  switch (schedulingChoice.case) {
    case "dynamicBatching":
      return {
        levels: Number(schedulingChoice.value.priorityLevels),
        defaultLevel: Number(schedulingChoice.value.defaultPriorityLevel),
      };
    case "ensembleScheduling":
      return { levels: Number.MAX_SAFE_INTEGER, defaultLevel: 0 };
    case "sequenceBatching":
    case undefined:
      return { levels: 0, defaultLevel: 0 };
  }
}
