import type {
  JsonObject,
  JsonValue,
  ModelMetadata,
  ModelStatistics,
  ModelVersionStatistics,
  RepositoryIndexEntry,
  ServerMetadata,
  TensorMetadata,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

/** From JSON that a server sent to the messages of the protocol. All throw INTERNAL, naming what is missing. */

export function readServerMetadata(value: JsonValue): ServerMetadata {
  const metadata = readObject(value, "server metadata");
  return {
    name: text(metadata, "name"),
    version: text(metadata, "version"),
    extensions: texts(metadata, "extensions"),
  };
}

export function readModelMetadata(value: JsonValue): ModelMetadata {
  const metadata = readObject(value, "model metadata");
  return {
    name: text(metadata, "name"),
    versions: texts(metadata, "versions"),
    platform: text(metadata, "platform"),
    inputs: array(metadata, "inputs").map(tensorMetadata),
    outputs: array(metadata, "outputs").map(tensorMetadata),
  };
}

function tensorMetadata(value: JsonValue): TensorMetadata {
  const tensor = readObject(value, "tensor metadata");
  return {
    name: text(tensor, "name"),
    datatype: text(tensor, "datatype"),
    shape: array(tensor, "shape").map(Number),
  };
}

export function readModelStatistics(value: JsonValue): ModelStatistics {
  const entries = array(readObject(value, "model statistics"), "model_stats");
  return {
    model_stats: entries.map((entry) => {
      const statistics = readObject(withNumbers(entry), "model statistics");
      text(statistics, "name");
      text(statistics, "version");
      // Beyond its name an entry is counters in Triton's own layout, which is ours.
      return statistics as unknown as ModelVersionStatistics;
    }),
  };
}

/** Counters beyond 2^53, which arrive as bigints, become the nearest number. */
function withNumbers(value: JsonValue): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (isArray(value)) return value.map(withNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNumbers(member)]));
}

export function readRepositoryIndex(value: JsonValue): readonly RepositoryIndexEntry[] {
  if (!isArray(value)) throw unexpected("repository index is no array");
  return value.map((entry) => {
    const line = readObject(entry, "repository index entry");
    text(line, "name");
    // The other members are absent or texts.
    return line as unknown as RepositoryIndexEntry;
  });
}

export function readObject(value: JsonValue, what: string): JsonObject {
  if (typeof value === "object" && value !== null && !isArray(value)) return value;
  throw unexpected(`${what} is no object`);
}

function text(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value === "string") return value;
  throw unexpected(`'${name}' is no string`);
}

function texts(object: JsonObject, name: string): string[] {
  return array(object, name).map(String);
}

function array(object: JsonObject, name: string): readonly JsonValue[] {
  const value = object[name];
  if (isArray(value)) return value;
  throw unexpected(`'${name}' is no array`);
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function unexpected(message: string): InferenceError {
  return new InferenceError("INTERNAL", `unexpected answer of the server: ${message}`);
}
