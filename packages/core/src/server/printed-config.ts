import { type ModelConfig, printConfig } from "@naiad/model-config";
import type { JsonObject } from "@naiad/protocol";

/** What configurations say, made once for each: a stream of gRPC asks with every request. No configuration changes. */
export function createConfigPrinter(): (config: ModelConfig) => JsonObject {
  const printed = new WeakMap<ModelConfig, JsonObject>();
  return (config) => {
    const known = printed.get(config);
    if (known !== undefined) return known;
    const json = printConfig(config);
    printed.set(config, json);
    return json;
  };
}
