import { type ModelConfig, readConfigJson } from "@naiad/model-config";
import { encodeJson, InferenceError, type JsonObject } from "@naiad/protocol";

/** A configuration as the operation tells it, as the message it was. */
export function modelConfigMessage(config: JsonObject): ModelConfig {
  const result = readConfigJson(new TextDecoder().decode(encodeJson(config)));
  if (result.kind === "config") return result.config;
  throw new InferenceError("INTERNAL", result.reason);
}
