import type { ModelConfig } from "@naiad/model-config";
import { parseConfigJson, parseConfigText, readConfigJson } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { ModelMaterial } from "./model-material.ts";

export interface ReadConfigOptions {
  /** JSON text that stands for the file. */
  readonly override?: string;
  /** Whether a model without a configuration is fine. */
  readonly isOptional: boolean;
  readonly signal: AbortSignal;
}

/** In the order in which they are looked for; the second is not Triton's. */
const CONFIG_FILES = ["config.pbtxt", "config.json"] as const;

/** The configuration as the user wrote it; an empty one when there is none. INVALID_ARG with file, line and reason. */
export async function readConfig(material: ModelMaterial, options: ReadConfigOptions): Promise<ModelConfig> {
  if (options.override !== undefined) return readOverride(options.override);
  const { name, files } = material.model;
  const path = CONFIG_FILES.find((candidate) => files.some((file) => file.path === candidate));
  if (path === undefined) {
    if (options.isOptional) return parseConfigText("", { fileName: "" });
    throw new InferenceError("NOT_FOUND", `failed to open text file for read ${name}/${CONFIG_FILES[0]}`);
  }
  const content = await (await material.fetch([path], options.signal)).read(path);
  const text = new TextDecoder("utf-8").decode(content);
  const fileName = `${name}/${path}`;
  return path === "config.json" ? parseConfigJson(text, { fileName }) : parseConfigText(text, { fileName });
}

function readOverride(text: string): ModelConfig {
  const result = readConfigJson(text);
  if (result.kind === "config") return result.config;
  throw new InferenceError("INVALID_ARG", `Invalid config override: ${result.reason}`);
}
