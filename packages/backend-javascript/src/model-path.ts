import type { ModelConfig } from "@naiad/model-config";
import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";

const DEFAULT_FILE_NAME = "model.js";

export interface ModelLocation {
  readonly modelName: string;
  readonly version: number;
  readonly config: Pick<ModelConfig, "defaultModelFilename">;
  /** Of all files of the model. */
  readonly paths: readonly string[];
}

/** The version's main file, in the model's directory. INVALID_ARG where there is none, or it lies outside of the version. */
export function modelPath({ modelName, version, config, paths }: ModelLocation): string {
  const fileName = config.defaultModelFilename;
  const path = joinedPath(String(version), fileName === "" ? DEFAULT_FILE_NAME : fileName);
  if (path?.startsWith(`${version}/`) !== true) {
    throw new InferenceError(
      "INVALID_ARG",
      `default_model_filename '${fileName}' of model '${modelName}' is outside of the version's directory`,
    );
  }
  if (paths.includes(path)) return path;
  throw new InferenceError("INVALID_ARG", `unable to find '${path}' for model instance '${modelName}'`);
}
