import { fromJson } from "@bufbuild/protobuf";
import type { DescField, DescMessage, JsonValue as PlainJsonValue } from "@bufbuild/protobuf";
import type { JsonObject, JsonValue } from "@naiad/protocol";
import { InferenceError, isJsonArray, isJsonObject, parseJson } from "@naiad/protocol";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";

export type ConfigJsonResult =
  | { readonly kind: "config"; readonly config: ModelConfig }
  | { readonly kind: "fault"; readonly reason: string };

/**
 * Reads a configuration in proto3's JSON form, as `/config` prints it and a load request may carry it: names of fields in
 * snake_case or camelCase, names of enum values in any case, 64-bit integers as strings or numbers, an unknown field is a
 * fault. Never throws.
 */
export function readConfigJson(text: string): ConfigJsonResult {
  try {
    // Refuses what is not strict JSON; the other parser then keeps integers beyond 2^53 exact.
    JSON.parse(text);
    return {
      kind: "config",
      config: fromJson(ModelConfigSchema, plainMessage(ModelConfigSchema, parseJson(text))),
    };
  } catch (thrown) {
    return { kind: "fault", reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** Reads a `config.json`; INVALID_ARG with the file's name and the reason on failure. */
export function parseConfigJson(text: string, options: { readonly fileName: string }): ModelConfig {
  const result = readConfigJson(text);
  if (result.kind === "config") return result.config;
  throw new InferenceError("INVALID_ARG", `failed to read JSON from ${options.fileName}: ${result.reason}`);
}

/** The message as the library takes it: names of enum values spelled as in the proto file, no bigints. */
function plainMessage(desc: DescMessage, json: JsonValue): PlainJsonValue {
  if (!isJsonObject(json)) return plainValue(json);
  return mapEntries(json, (value, name) => {
    const field = desc.fields.find((candidate) => candidate.name === name || candidate.jsonName === name);
    if (field === undefined) return plainValue(value);
    if (field.fieldKind === "map" && isJsonObject(value))
      return mapEntries(value, (entry) => plainField(field, entry));
    return isJsonArray(value) ? value.map((element) => plainField(field, element)) : plainField(field, value);
  });
}

/** One element of a list or map, or the field itself. */
function plainField(field: DescField, json: JsonValue): PlainJsonValue {
  if (field.message !== undefined) return plainMessage(field.message, json);
  if (field.enum === undefined || typeof json !== "string") return plainValue(json);
  const upper = json.toUpperCase();
  return field.enum.values.find(({ name }) => name.toUpperCase() === upper)?.name ?? json;
}

function plainValue(json: JsonValue): PlainJsonValue {
  if (typeof json === "bigint") return String(json);
  if (isJsonArray(json)) return json.map(plainValue);
  return isJsonObject(json) ? mapEntries(json, plainValue) : json;
}

function mapEntries(
  json: JsonObject,
  transform: (value: JsonValue, name: string) => PlainJsonValue,
): PlainJsonValue {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, transform(value, name)]));
}
