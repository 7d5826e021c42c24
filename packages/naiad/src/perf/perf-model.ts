import type { Datatype, JsonObject, JsonValue, ModelMetadata, TensorMetadata } from "@naiad/protocol";
import { InferenceError, isDatatype, isJsonArray, isJsonObject } from "@naiad/protocol";

/** What has to be known of a model to make requests for it. */
export interface PerfModel {
  readonly name: string;
  /** `""`: the one that the server chooses. */
  readonly version: string;
  /** 0: requests have no batch dimension. */
  readonly maxBatchSize: number;
  readonly inputs: readonly PerfInput[];
  readonly outputs: readonly PerfTensor[];
  readonly isSequence: boolean;
  readonly isDecoupled: boolean;
  /** Of an ensemble, each once. */
  readonly composing: readonly ComposingModel[];
}

export interface ComposingModel {
  readonly name: string;
  /** `""`: the one that the server chooses. */
  readonly version: string;
}

export interface PerfTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; -1 where any size will do. */
  readonly shape: readonly number[];
}

export interface PerfInput extends PerfTensor {
  readonly optional: boolean;
}

/** The model as metadata and configuration, both of the V2 protocol, describe it. INVALID_ARG for what is neither. */
export function readPerfModel(
  metadata: ModelMetadata,
  config: JsonObject | undefined,
  version: string,
): PerfModel {
  const maxBatchSize = Number(config?.["max_batch_size"] ?? 0);
  const optional = new Set(
    objectsIn(config?.["input"]).flatMap((input) => (input["optional"] === true ? [input["name"]] : [])),
  );
  return {
    name: metadata.name,
    version,
    maxBatchSize,
    inputs: metadata.inputs.map((input) => ({
      ...tensorOf(input, maxBatchSize),
      optional: optional.has(input.name),
    })),
    outputs: metadata.outputs.map((output) => tensorOf(output, maxBatchSize)),
    isSequence: config?.["sequence_batching"] !== undefined,
    isDecoupled: objectOf(config?.["model_transaction_policy"])["decoupled"] === true,
    composing: composingOf(config),
  };
}

function tensorOf({ datatype, name, shape }: TensorMetadata, maxBatchSize: number): PerfTensor {
  if (!isDatatype(datatype)) {
    throw new InferenceError("INVALID_ARG", `tensor '${name}' has the unknown datatype '${datatype}'`);
  }
  return { name, datatype, shape: shape.map(Number).slice(maxBatchSize > 0 ? 1 : 0) };
}

function composingOf(config: JsonObject | undefined): readonly ComposingModel[] {
  const steps = objectsIn(objectOf(config?.["ensemble_scheduling"])["step"]);
  const models = steps.flatMap(({ model_name: name, model_version: version }): ComposingModel[] =>
    // -1 is the version that the server chooses.
    typeof name === "string"
      ? [{ name, version: Number(version ?? -1) < 0 ? "" : String(Number(version)) }]
      : [],
  );
  return [...new Map(models.map((model) => [`${model.name}:${model.version}`, model])).values()];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return isJsonArray(value) ? value.filter(isJsonObject) : [];
}
