import { fromText, toText } from "@bufbuild/protobuf/txtpb";
import { InferenceError } from "@naiad/protocol";
import type { ConfigFault, ConfigReadResult } from "./config-fault.ts";
import { formatFault, positionOf } from "./config-fault.ts";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";
import { findTextFaults } from "./text-position.ts";

/** Reads a `config.pbtxt`. An empty text is an empty configuration. Never throws. */
export function readConfigText(text: string): ConfigReadResult<ModelConfig> {
  try {
    return { kind: "config", config: fromText(ModelConfigSchema, text) };
  } catch (thrown) {
    const [fault] = findConfigFaults(text);
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return { kind: "fault", fault: fault ?? { line: 1, column: 1, reason } };
  }
}

/**
 * Everything that is wrong with the text of a `config.pbtxt`, in its order; empty when it can be read. Behind a fault in
 * the syntax itself nothing more can be told.
 */
export function findConfigFaults(text: string): readonly ConfigFault[] {
  return findTextFaults(ModelConfigSchema, text).map(({ offset, ...fault }) => ({
    ...positionOf(text, offset),
    ...fault,
  }));
}

/**
 * Reads a `config.pbtxt`. On failure: INVALID_ARG, Triton's text with line, column and reason behind the file's name.
 */
export function parseConfigText(text: string, options: { readonly fileName: string }): ModelConfig {
  const result = readConfigText(text);
  if (result.kind === "config") return result.config;
  throw new InferenceError(
    "INVALID_ARG",
    `failed to read text proto from ${formatFault(options.fileName, result.fault)}`,
  );
}

/** The configuration as a `config.pbtxt` that reads back to an equal one. */
export function printConfigText(config: ModelConfig): string {
  return toText(ModelConfigSchema, config);
}
