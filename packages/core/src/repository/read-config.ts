import type { ModelConfig } from "@naiad/model-config";
import { parseConfigJson, parseConfigText, readConfigJson } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { ModelMaterial } from "./model-material.ts";

export interface ReadConfigOptions {
  /** JSON text that stands for the file. */
  readonly override?: string;
  /** Of a file in `configs/` that comes before the others, where the model has it; `""`: none. */
  readonly configName: string;
  /** Whether a model without a configuration is fine. */
  readonly isOptional: boolean;
  readonly signal: AbortSignal;
}

const CONFIG_FILE = "config.pbtxt";
/** Not Triton's. */
const JSON_CONFIG_FILE = "config.json";

/** The configuration as the user wrote it; an empty one when there is none. INVALID_ARG with file, line and reason. */
export async function readConfig(material: ModelMaterial, options: ReadConfigOptions): Promise<ModelConfig> {
  if (options.override !== undefined) return readOverride(options.override);
  const { name, files } = material.model;
  const candidates = [CONFIG_FILE, JSON_CONFIG_FILE];
  if (options.configName !== "") candidates.unshift(`configs/${options.configName}.pbtxt`);
  const path = candidates.find((candidate) => files.some((file) => file.path === candidate));
  if (path === undefined) {
    if (options.isOptional) return parseConfigText("", { fileName: "" });
    throw new InferenceError("NOT_FOUND", `failed to open text file for read ${name}/${CONFIG_FILE}`);
  }
  const content = await (await material.fetch([path], options.signal)).read(path);
  const text = new TextDecoder("utf-8").decode(content);
  const fileName = `${name}/${path}`;
  return path === JSON_CONFIG_FILE
    ? parseConfigJson(text, { fileName })
    : parseConfigText(text, { fileName });
}

function readOverride(text: string): ModelConfig {
  const result = readConfigJson(text);
  if (result.kind === "config") return result.config;
  throw new InferenceError("INVALID_ARG", `Invalid config override: ${result.reason}`);
}
