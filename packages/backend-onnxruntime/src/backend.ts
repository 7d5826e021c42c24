import type { ModelSpec, PrepareOptions } from "@naiad/core";
import type { ByteSource, ModelConfig, OnnxModel } from "@naiad/model-config";
import {
  assertNoIssues,
  autoCompleteOnnx,
  checkOnnxModel,
  ONNX_AUTO_COMPLETE_DEFAULTS,
  readOnnxModel,
} from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import { configWarnings } from "./config-warnings.ts";
import { declareShapes } from "./declared-shapes.ts";
import { checkSupported } from "./io-check.ts";
import type { ModelLocation } from "./model-files.ts";
import { externalFilePaths, onnxFilePath } from "./model-files.ts";

export interface PrepareOnnxOptions extends PrepareOptions {
  /** For models that batch and do not say how much. */
  readonly defaultMaxBatchSize?: number;
  /** Hears what the configuration asks for in vain. */
  readonly warn?: (message: string) => void;
}

/** Core's `Backend.prepare` for this backend. Outputs that are no tensors are left out, the rest of the model serves. */
export async function prepareOnnx(model: ModelSpec, options: PrepareOnnxOptions): Promise<ModelConfig> {
  const location: ModelLocation = { ...model, files: model.files.entries };
  const path = onnxFilePath(location);
  const onnx = await readOnnxModel(byteSource(model, path, options.signal));
  externalFilePaths(location, path, onnx);
  const config = options.autoComplete ? autoComplete(model.config, onnx, options) : model.config;
  assertNoIssues(checkOnnxModel(config, declareShapes(onnx, config), { nonTensorOutputs: "omit" }));
  checkSupported(config);
  for (const warning of configWarnings(config)) options.warn?.(warning);
  return config;
}

function autoComplete(config: ModelConfig, onnx: OnnxModel, options: PrepareOnnxOptions): ModelConfig {
  const unknown = onnx.outputs.find(({ type }) => type.kind === "tensor" && type.shape === undefined);
  if (config.output.length === 0 && unknown !== undefined) {
    // ONNX Runtime would infer it over the graph.
    throw new InferenceError(
      "INVALID_ARG",
      `autofill failed for model '${config.name}': the model's file gives no shape for output '${unknown.name}', ` +
        "so the configuration must",
    );
  }
  return autoCompleteOnnx(config, onnx, {
    defaultMaxBatchSize: options.defaultMaxBatchSize ?? ONNX_AUTO_COMPLETE_DEFAULTS.defaultMaxBatchSize,
    nonTensorOutputs: "omit",
  });
}

function byteSource({ files }: ModelSpec, path: string, signal: AbortSignal): ByteSource {
  const file = files.entries.find((entry) => entry.path === path);
  invariant(file !== undefined, `'${path}' is one of the model's files`);
  return {
    size: file.size,
    read: (offset, length) => {
      signal.throwIfAborted();
      return files.read(path, { start: offset, end: offset + length });
    },
  };
}
