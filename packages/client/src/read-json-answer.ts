import type {
  CudaSharedMemoryRegion,
  JsonObject,
  JsonValue,
  LogSettings,
  ModelMetadata,
  ModelStatistics,
  ModelVersionStatistics,
  RepositoryIndexEntry,
  ServerMetadata,
  ServerParameters,
  SystemSharedMemoryRegion,
  TensorMetadata,
  TraceSettings,
} from "@naiad/protocol";
import { InferenceError, isJsonArray, isJsonObject, OPEN_TELEMETRY_SETTINGS } from "@naiad/protocol";

/** From JSON that a server sent to the messages of the protocol. All throw INTERNAL, naming what is missing. */

export function readServerMetadata(value: JsonValue): ServerMetadata {
  const metadata = readObject(value, "server metadata");
  const { parameters } = metadata;
  return {
    name: text(metadata, "name"),
    version: text(metadata, "version"),
    extensions: texts(metadata, "extensions"),
    ...(parameters !== undefined && { parameters: readServerParameters(parameters) }),
  };
}

function readServerParameters(value: JsonValue): ServerParameters {
  return {
    clock_resolution_ns: Number(readObject(value, "server parameters")["clock_resolution_ns"]),
  };
}

export function readModelMetadata(value: JsonValue): ModelMetadata {
  const metadata = readObject(value, "model metadata");
  // Optional in KServe's protocol, where servers without versions have none or null.
  const hasVersions = (metadata["versions"] ?? null) !== null;
  return {
    name: text(metadata, "name"),
    versions: hasVersions ? texts(metadata, "versions") : [],
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
  if (isJsonArray(value)) return value.map(withNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNumbers(member)]));
}

export function readRepositoryIndex(value: JsonValue): readonly RepositoryIndexEntry[] {
  if (!isJsonArray(value)) throw unexpected("repository index is no array");
  return value.map((entry) => {
    const line = readObject(entry, "repository index entry");
    text(line, "name");
    // The other members are absent or texts.
    return line as unknown as RepositoryIndexEntry;
  });
}

export function readTraceSettings(value: JsonValue): TraceSettings {
  const settings = readObject(value, "trace settings");
  const ofMode = ["log_frequency", "trace_file", ...OPEN_TELEMETRY_SETTINGS].filter(
    (name) => settings[name] !== undefined,
  );
  return {
    trace_level: texts(settings, "trace_level"),
    trace_rate: text(settings, "trace_rate"),
    trace_count: text(settings, "trace_count"),
    trace_mode: text(settings, "trace_mode"),
    ...Object.fromEntries(ofMode.map((name) => [name, text(settings, name)])),
  };
}

export function readLogSettings(value: JsonValue): LogSettings {
  const settings = readObject(value, "log settings");
  return {
    log_file: text(settings, "log_file"),
    log_info: settings["log_info"] === true,
    log_warning: settings["log_warning"] === true,
    log_error: settings["log_error"] === true,
    log_verbose_level: Number(settings["log_verbose_level"]),
    log_format: text(settings, "log_format"),
  };
}

export function readSystemRegions(value: JsonValue): readonly SystemSharedMemoryRegion[] {
  return readRegions(value).map((region) => ({
    name: text(region, "name"),
    key: text(region, "key"),
    offset: Number(region["offset"]),
    byte_size: Number(region["byte_size"]),
  }));
}

export function readCudaRegions(value: JsonValue): readonly CudaSharedMemoryRegion[] {
  return readRegions(value).map((region) => ({
    name: text(region, "name"),
    device_id: Number(region["device_id"]),
    byte_size: Number(region["byte_size"]),
  }));
}

function readRegions(value: JsonValue): readonly JsonObject[] {
  if (!isJsonArray(value)) throw unexpected("shared memory status is no array");
  return value.map((region) => readObject(region, "shared memory region"));
}

export function readObject(value: JsonValue, what: string): JsonObject {
  if (isJsonObject(value)) return value;
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
  if (isJsonArray(value)) return value;
  throw unexpected(`'${name}' is no array`);
}

function unexpected(message: string): InferenceError {
  return new InferenceError("INTERNAL", `unexpected answer of the server: ${message}`);
}
