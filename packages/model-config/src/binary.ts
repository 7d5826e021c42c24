import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { InferenceError } from "@naiad/protocol";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";

/** The configuration as proto3 bytes: how it travels between workers. */
export function encodeConfig(config: ModelConfig): Uint8Array {
  return toBinary(ModelConfigSchema, config);
}

/** INVALID_ARG for bytes that are no configuration. */
export function decodeConfig(bytes: Uint8Array): ModelConfig {
  try {
    return fromBinary(ModelConfigSchema, bytes);
  } catch (cause) {
    throw new InferenceError("INVALID_ARG", "failed to read the binary form of a model configuration", {
      cause,
    });
  }
}
