import { JsonFloat, type JsonNode, NumberArray } from "./json-node.ts";
import { InferenceError } from "./status.ts";

/**
 * Typed access to a JSON document with the texts of Triton's JSON layer. All errors are INTERNAL, as there.
 * `context` is put before the text: `Unable to parse 'shape': attempt to access ...`.
 */
function fail(text: string, context: string | undefined): InferenceError {
  return new InferenceError("INTERNAL", context === undefined ? text : `${context}: ${text}`);
}

/** The member, or `undefined` when there is none or the node is no object. */
export function findMember(node: JsonNode, name: string): JsonNode | undefined {
  return node instanceof Map ? (node as ReadonlyMap<string, JsonNode>).get(name) : undefined;
}

export function requireMember(node: JsonNode, name: string, context?: string): JsonNode {
  const member = findMember(node, name);
  if (member === undefined) throw fail(`attempt to access non-existing object member '${name}'`, context);
  return member;
}

export function membersOf(node: JsonNode, context?: string): ReadonlyMap<string, JsonNode> {
  if (node instanceof Map) return node;
  throw fail("attempt to get members for non-object", context);
}

export function asString(node: JsonNode, context?: string): string {
  if (typeof node === "string") return node;
  throw fail("attempt to access JSON non-string as string", context);
}

export function asBoolean(node: JsonNode, context?: string): boolean {
  if (typeof node === "boolean") return node;
  throw fail("attempt to access JSON non-boolean as boolean", context);
}

/** An integer of the int64 range. */
export function asInteger(node: JsonNode, context?: string): number | bigint {
  if (isInteger(node)) return node;
  throw fail("attempt to access JSON non-signed-integer as signed-integer", context);
}

const INT64_MAX = 2n ** 63n - 1n;

/** The reader gives integral numbers for integer literals only, and no bigint below the int64 range. */
export function isInteger(node: JsonNode): node is number | bigint {
  return typeof node === "number" ? Number.isInteger(node) : typeof node === "bigint" && node <= INT64_MAX;
}

/** An integer of the uint64 range. */
export function asUnsigned(node: JsonNode, context?: string): number | bigint {
  if (isUnsigned(node)) return node;
  throw fail("attempt to access JSON non-unsigned-integer as unsigned-integer", context);
}

export function isUnsigned(node: JsonNode): node is number | bigint {
  return typeof node === "number"
    ? Number.isInteger(node) && node >= 0
    : typeof node === "bigint" && node >= 0n;
}

export function asDouble(node: JsonNode, context?: string): number {
  const value = toDouble(node);
  if (value === undefined) throw fail("attempt to access JSON non-number as double", context);
  return value;
}

/** Any number, or `undefined`. */
export function toDouble(node: JsonNode): number | undefined {
  if (typeof node === "number") return node;
  if (typeof node === "bigint") return Number(node);
  return node instanceof JsonFloat ? node.value : undefined;
}

export function isArrayNode(node: JsonNode): node is NumberArray | readonly JsonNode[] {
  return node instanceof NumberArray || Array.isArray(node);
}

export function memberAsArray(
  node: JsonNode,
  name: string,
  context?: string,
): NumberArray | readonly JsonNode[] {
  const member = requireMember(node, name, context);
  if (isArrayNode(member)) return member;
  throw fail("attempt to access JSON non-array as array", context);
}

/** The elements one by one, as exact as the document. */
export function elementsOf(array: NumberArray | readonly JsonNode[]): readonly JsonNode[] {
  return array instanceof NumberArray ? array.content.exact() : array;
}
