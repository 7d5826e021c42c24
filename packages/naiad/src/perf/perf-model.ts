import type { Datatype, JsonObject, JsonValue, ModelMetadata } from "@naiad/protocol";
import { InferenceError, isDatatype } from "@naiad/protocol";

/** What has to be known of a model to make requests for it. */
export interface PerfModel {
  readonly name: string;
  /** `""`: the one that the server chooses. */
  readonly version: string;
  /** 0: requests have no batch dimension. */
  readonly maxBatchSize: number;
  readonly inputs: readonly PerfInput[];
  readonly isSequence: boolean;
  readonly isDecoupled: boolean;
  /** Of an ensemble, each once. */
  readonly composing: readonly string[];
}

export interface PerfInput {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension; -1 where any size will do. */
  readonly shape: readonly number[];
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
    inputs: metadata.inputs.map(({ name, datatype, shape }) => {
      if (!isDatatype(datatype)) {
        throw new InferenceError("INVALID_ARG", `input '${name}' has the unknown datatype '${datatype}'`);
      }
      const own = shape.map(Number).slice(maxBatchSize > 0 ? 1 : 0);
      return { name, datatype, shape: own, optional: optional.has(name) };
    }),
    isSequence: config?.["sequence_batching"] !== undefined,
    isDecoupled: objectOf(config?.["model_transaction_policy"])["decoupled"] === true,
    composing: composingOf(config),
  };
}

function composingOf(config: JsonObject | undefined): readonly string[] {
  const steps = objectsIn(objectOf(config?.["ensemble_scheduling"])["step"]);
  const names = steps.flatMap(({ model_name }) => (typeof model_name === "string" ? [model_name] : []));
  return [...new Set(names)];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isObject) : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
