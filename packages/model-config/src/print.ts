import { ScalarType, toJson } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { JsonObject, JsonValue } from "@naiad/protocol";
import { isJsonObject } from "@naiad/protocol";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";

/**
 * 64-bit fields that Triton leaves as strings, as protobuf prints them; it turns all others into numbers.
 * (Keys of `priority_queue_policy` stay strings because JSON's keys are.)
 */
const PRINTED_AS_STRINGS: ReadonlySet<string> = new Set([
  "inference.ModelSequenceBatching.InitialState.dims",
  "inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim",
  "inference.ModelInstanceGroup.SecondaryDevice.device_id",
]);

/**
 * The configuration as `/config` answers it: names of the proto file in its order; scalars, lists and maps always there,
 * messages and members of oneofs only when set; 64-bit integers as numbers, as `bigint` beyond 2^53.
 */
export function printConfig(config: ModelConfig): JsonObject {
  const json = toJson(ModelConfigSchema, config, { alwaysEmitImplicit: true, useProtoFieldName: true });
  return printMessage(ModelConfigSchema, json);
}

function printMessage(desc: DescMessage, json: JsonValue): JsonObject {
  if (!isJsonObject(json)) return {};
  const printed: Record<string, JsonValue> = {};
  for (const field of desc.fields) {
    const value = json[field.name];
    if (value !== undefined) printed[field.name] = printField(field, value);
  }
  return printed;
}

function printField(field: DescField, json: JsonValue): JsonValue {
  const printValue = valuePrinter(field);
  if (Array.isArray(json)) return json.map(printValue);
  if (field.fieldKind !== "map" || !isJsonObject(json)) return printValue(json);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, printValue(value)]));
}

/** Prints one element of a list or map, or the field itself. */
function valuePrinter(field: DescField): (json: JsonValue) => JsonValue {
  const { message } = field;
  if (message !== undefined) return (json) => printMessage(message, json);
  if (field.scalar === ScalarType.FLOAT)
    return (json) => (typeof json === "number" ? shortestFloat(json) : json);
  const is64Bit = field.scalar === ScalarType.INT64 || field.scalar === ScalarType.UINT64;
  if (!is64Bit || PRINTED_AS_STRINGS.has(`${field.parent.typeName}.${field.name}`)) return (json) => json;
  return (json) => (typeof json === "string" ? exactNumber(json) : json);
}

function exactNumber(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** The shortest decimal that is read back as the same 32-bit float: 0.1, not 0.10000000149011612. */
function shortestFloat(value: number): number {
  for (let precision = 6; precision < 9; precision += 1) {
    const rounded = Number(value.toPrecision(precision));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}
