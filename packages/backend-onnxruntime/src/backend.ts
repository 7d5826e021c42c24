import type { ModelSpec, PrepareOptions } from "@naiad/core";
import type { ByteSource, ConfigIssue, ModelConfig, OnnxModel } from "@naiad/model-config";
import {
  assertNoIssues,
  autoCompleteOnnx,
  checkOnnxModel,
  ONNX_AUTO_COMPLETE_DEFAULTS,
  readOnnxModel,
} from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import { configWarnings } from "./config-warnings.ts";
import { ENGINE_VERSION, HIGHEST_OPSET } from "./engine-version.ts";
import { declareShapes } from "./declared-shapes.ts";
import { unsupportedTensors } from "./unsupported-tensors.ts";
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
  const { config, issues, warnings } = await inspectOnnx(model, options);
  assertNoIssues(issues);
  for (const warning of warnings) options.warn?.(warning);
  return config;
}

export interface OnnxInspection {
  /** Completed, where the options say so. */
  readonly config: ModelConfig;
  /** What keeps the model from being served with it; the first is Triton's error. */
  readonly issues: readonly ConfigIssue[];
  /** What it asks for in vain. */
  readonly warnings: readonly string[];
}

/**
 * Holds a configuration against the model's file. Rejects with Triton's text where a file is missing or cannot be read, or
 * the configuration cannot be completed from it.
 */
export async function inspectOnnx(
  model: ModelSpec,
  options: Omit<PrepareOnnxOptions, "warn">,
): Promise<OnnxInspection> {
  const location: ModelLocation = { ...model, files: model.files.entries };
  const path = onnxFilePath(location);
  const onnx = await readOnnxModel(byteSource(model, path, options.signal));
  externalFilePaths(location, path, onnx);
  const config = options.autoComplete ? autoComplete(model.config, onnx, options) : model.config;
  const issues = checkOnnxModel(config, declareShapes(onnx, config), { nonTensorOutputs: "omit" });
  return {
    config,
    issues: [...issues, ...unsupportedTensors(config), ...unknownOperators(config, onnx)],
    warnings: configWarnings(config),
  };
}

/** ONNX Runtime refuses such a model by its number alone; here that is known before its weights are there. */
function unknownOperators({ name }: ModelConfig, { opsets }: OnnxModel): readonly ConfigIssue[] {
  const version = opsets.find(({ domain }) => domain === "" || domain === "ai.onnx")?.version ?? 0;
  if (version <= HIGHEST_OPSET) return [];
  return [
    {
      code: "INVALID_ARG",
      message:
        `unable to load model '${name}', it is made of the operators of ONNX opset ${version}, and ONNX Runtime Web ` +
        `${ENGINE_VERSION} knows them up to opset ${HIGHEST_OPSET}`,
      path: "",
      hint: `export the model with opset ${HIGHEST_OPSET} or below`,
    },
  ];
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
