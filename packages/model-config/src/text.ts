import { fromText, toText } from "@bufbuild/protobuf/txtpb";
import { InferenceError } from "@naiad/protocol";
import type { ConfigReadResult } from "./config-fault.ts";
import { formatFault, positionOf } from "./config-fault.ts";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";
import { findTextFault } from "./text-position.ts";

/** Reads a `config.pbtxt`. An empty text is an empty configuration. Never throws. */
export function readConfigText(text: string): ConfigReadResult<ModelConfig> {
  try {
    return { kind: "config", config: fromText(ModelConfigSchema, text) };
  } catch (thrown) {
    const fault = findTextFault(ModelConfigSchema, text) ?? {
      offset: 0,
      reason: thrown instanceof Error ? thrown.message : String(thrown),
    };
    return { kind: "fault", fault: { ...positionOf(text, fault.offset), reason: fault.reason } };
  }
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
