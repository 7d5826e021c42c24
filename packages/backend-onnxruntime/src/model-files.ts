import type { ModelFile } from "@naiad/core";
import type { ModelConfig, OnnxModel } from "@naiad/model-config";
import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";

const DEFAULT_FILE_NAME = "model.onnx";

export interface ModelLocation {
  readonly modelName: string;
  readonly version: number;
  readonly config: ModelConfig;
  readonly files: readonly ModelFile[];
}

/**
 * Path of the version's ONNX file inside the model's directory. The configured name may be a directory, which then holds
 * the model and its external data. INVALID_ARG when it leads out of the version's directory, and with Triton's text when
 * there is no such file.
 */
export function onnxFilePath({ modelName, version, config, files }: ModelLocation): string {
  const { defaultModelFilename } = config;
  const path = joinedPath(String(version), defaultModelFilename || DEFAULT_FILE_NAME);
  if (path?.startsWith(`${version}/`) !== true) {
    throw new InferenceError(
      "INVALID_ARG",
      `default_model_filename '${defaultModelFilename}' of model '${modelName}' is outside of the version's directory`,
    );
  }
  const inDirectory = `${path}/${DEFAULT_FILE_NAME}`;
  const found = [path, inDirectory].find((candidate) => files.some((file) => file.path === candidate));
  if (found !== undefined) return found;
  throw new InferenceError("INVALID_ARG", `unable to find '${path}' for model instance '${modelName}'`);
}

export interface ExternalFilePath {
  /** As the model names it: the engine compares texts. */
  readonly location: string;
  /** Inside the model's directory. */
  readonly path: string;
}

/** The model's files with weights, which must lie beside it or below. INVALID_ARG for one that is missing. */
export function externalFilePaths(
  { modelName, files }: ModelLocation,
  onnxPath: string,
  { externalFiles }: Pick<OnnxModel, "externalFiles">,
): readonly ExternalFilePath[] {
  const directory = onnxPath.slice(0, onnxPath.lastIndexOf("/") + 1);
  return externalFiles.map((location) => {
    const path = joinedPath(directory, location);
    if (path?.startsWith(directory) === true && files.some((file) => file.path === path)) {
      return { location, path };
    }
    throw new InferenceError(
      "INVALID_ARG",
      `unable to find '${path ?? directory + location}' for model instance '${modelName}': '${onnxPath}' keeps weights in it`,
    );
  });
}
