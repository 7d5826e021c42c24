import { JsonFloat, type JsonNode, NumberArray } from "./json-node.ts";
import { isJsonArray } from "./json-kinds.ts";
import { readJson } from "./json-reader.ts";
import type { JsonObject, JsonValue } from "./messages.ts";

/**
 * Parses JSON with rapidjson's rules: NaN, Inf and Infinity are numbers, integers beyond 2^53 come as bigint, the first
 * of two equal names counts. Throws an InferenceError with Triton's text (INTERNAL for syntax, INVALID_ARG for nesting).
 */
export function parseJson(input: Uint8Array | string): JsonValue {
  return toValue(readJson(input));
}

function toValue(node: JsonNode): JsonValue {
  if (node === null || typeof node !== "object") return node;
  if (node instanceof JsonFloat) return node.value;
  if (node instanceof NumberArray) return node.content.values;
  if (node instanceof Map) return toObject(node);
  // `Array.isArray` cannot tell a readonly array from the other members of the union.
  return (node as readonly JsonNode[]).map(toValue);
}

function toObject(members: ReadonlyMap<string, JsonNode>): JsonObject {
  // Unlike an assignment this makes `__proto__` a member like any other.
  return Object.fromEntries(Array.from(members, ([name, node]) => [name, toValue(node)]));
}

/**
 * Compact JSON text. A number with an integral value is written as an integer; whoever means a double writes it with
 * `formatDouble`. Members whose value is `undefined` are left out.
 */
export function stringifyJson(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return quoteJson(value);
    case "number":
      return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(value) : formatDouble(value);
    case "bigint":
    case "boolean":
      return String(value);
    default:
      if (value === null) return "null";
      return isJsonArray(value) ? `[${value.map(stringifyJson).join(",")}]` : stringifyObject(value);
  }
}

function stringifyObject(object: JsonObject): string {
  const members: string[] = [];
  // Optional fields of messages may be present and undefined after a structured clone.
  for (const [name, value] of Object.entries<JsonValue | undefined>(object)) {
    if (value !== undefined) members.push(`${quoteJson(name)}:${stringifyJson(value)}`);
  }
  return `{${members.join(",")}}`;
}

/** A JSON string literal. */
export function quoteJson(text: string): string {
  return JSON.stringify(text);
}

/** A double as rapidjson writes it: shortest digits that read back the same, always with a fraction or an exponent. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  if (!Number.isInteger(value)) return text;
  return text.includes("e") ? text.replace("+", "") : `${text}.0`;
}

const UTF8 = new TextEncoder();

/** Compact JSON as UTF-8. */
export function encodeJson(value: JsonValue): Uint8Array<ArrayBuffer> {
  return UTF8.encode(stringifyJson(value));
}
