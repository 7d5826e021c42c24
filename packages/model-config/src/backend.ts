import { clone } from "@bufbuild/protobuf";
import { InferenceError } from "@naiad/protocol";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";
import type { EntryKind, ModelDirectory } from "./model-directory.ts";
import { entriesOf, subDirectories } from "./model-directory.ts";
import {
  JAVASCRIPT,
  LIBTORCH_PLATFORM,
  ONNXRUNTIME,
  OPENVINO,
  PYTHON,
  PYTORCH,
  TENSORFLOW,
  TENSORRT,
} from "./platforms.ts";

/**
 * Fills in what the names of files and directories tell: the model's name, backend, platform and default file name.
 * Triton does this also where auto-complete is off. It looks only into the sub-directory whose name sorts first, be it a
 * version or not. INVALID_ARG when nothing says which backend the model wants.
 */
export function completeBackend(config: ModelConfig, directory: ModelDirectory): ModelConfig {
  const completed = clone(ModelConfigSchema, config);
  if (completed.name === "") completed.name = directory.name;
  const [firstVersion] = subDirectories(directory);
  const entries =
    firstVersion === undefined ? new Map<string, EntryKind>() : entriesOf(directory, firstVersion);
  // The order is Triton's: the first that recognises the model takes it.
  const isKnown =
    completeTensorFlow(completed, entries) ||
    completeTensorRt(completed, entries) ||
    completeOnnxRuntime(completed, entries) ||
    completeOpenVino(completed, entries) ||
    completePyTorch(completed, entries) ||
    completePython(completed, entries) ||
    completeWithoutPlatform(completed, entries, JAVASCRIPT);
  if (!isKnown && !saysAnything(completed)) completeFromName(completed, directory.name);
  return completed;
}

type Entries = ReadonlyMap<string, EntryKind>;

/** Whether the configuration itself narrows the choice; only if not, the files are asked. */
function saysAnything(config: ModelConfig): boolean {
  return config.backend !== "" || config.platform !== "" || config.defaultModelFilename !== "";
}

function completeTensorFlow(config: ModelConfig, entries: Entries): boolean {
  const { savedModel, graphDef, backend } = TENSORFLOW;
  if (config.platform === "" && (config.backend === "" || config.backend === backend)) {
    const fileName = config.defaultModelFilename;
    const isSavedModel = fileName === "" && entries.get(savedModel.fileName) === "directory";
    const isGraphDef = fileName === "" && entries.get(graphDef.fileName) === "file";
    if (fileName === graphDef.fileName || isGraphDef) config.platform = graphDef.platform;
    else if (fileName === savedModel.fileName || isSavedModel) config.platform = savedModel.platform;
  }
  const kind = [savedModel, graphDef].find(({ platform }) => platform === config.platform);
  if (kind === undefined) return false;
  config.backend ||= backend;
  config.defaultModelFilename ||= kind.fileName;
  return true;
}

function completeTensorRt(config: ModelConfig, entries: Entries): boolean {
  const { backend, platform, fileName } = TENSORRT;
  const isNamed = config.platform === platform || config.defaultModelFilename === fileName;
  const isFound = !saysAnything(config) && entries.get(fileName) === "file";
  if (config.backend === "" && (isNamed || isFound)) config.backend = backend;
  if (config.backend !== backend) return false;
  config.platform ||= platform;
  config.defaultModelFilename ||= fileName;
  return true;
}

/** `model.onnx` may be a directory: the model and its external data. */
function completeOnnxRuntime(config: ModelConfig, entries: Entries): boolean {
  const { backend, platform, fileName } = ONNXRUNTIME;
  const isNamed = config.platform === platform || config.defaultModelFilename === fileName;
  const isFound = !saysAnything(config) && entries.has(fileName);
  if (config.backend === "" && (isNamed || isFound)) config.backend = backend;
  if (config.backend !== backend) return false;
  config.platform ||= platform;
  config.defaultModelFilename ||= fileName;
  return true;
}

function completeOpenVino(config: ModelConfig, entries: Entries): boolean {
  return completeWithoutPlatform(config, entries, OPENVINO);
}

function completePython(config: ModelConfig, entries: Entries): boolean {
  return completeWithoutPlatform(config, entries, PYTHON);
}

function completeWithoutPlatform(
  config: ModelConfig,
  entries: Entries,
  { backend, fileName }: { readonly backend: string; readonly fileName: string },
): boolean {
  const isNamed = config.defaultModelFilename === fileName;
  const isFound = !saysAnything(config) && entries.has(fileName);
  if (config.backend === "" && (isNamed || isFound)) config.backend = backend;
  if (config.backend !== backend) return false;
  config.defaultModelFilename ||= fileName;
  return true;
}

function completePyTorch(config: ModelConfig, entries: Entries): boolean {
  const { torchScript, aotInductor, backend } = PYTORCH;
  if (config.backend === "") {
    const platforms: readonly string[] = [torchScript.platform, LIBTORCH_PLATFORM, aotInductor.platform];
    const fileNames: readonly string[] = [torchScript.fileName, aotInductor.fileName];
    if (platforms.includes(config.platform) || fileNames.includes(config.defaultModelFilename)) {
      config.backend = backend;
    } else if (!saysAnything(config)) {
      const found = [torchScript, aotInductor].find(({ fileName }) => entries.has(fileName));
      if (found !== undefined && entries.get(found.fileName) === "file") {
        config.backend = backend;
        config.platform = found.platform;
      }
    }
  }
  if (config.backend !== backend) return false;
  if (config.platform === "") {
    config.platform = torchScript.platform;
    config.defaultModelFilename ||= torchScript.fileName;
  } else if (config.platform === aotInductor.platform) {
    config.defaultModelFilename ||= aotInductor.fileName;
  }
  return true;
}

/** A model of a custom backend may say so in its name: `x.identity`. */
function completeFromName(config: ModelConfig, modelName: string): void {
  const dot = modelName.indexOf(".");
  if (dot < 0) {
    throw new InferenceError(
      "INVALID_ARG",
      `Invalid model name: Could not determine backend for model '${modelName}' with no backend in model ` +
        "configuration. Expected model name of the form 'model.<backend_name>'.",
    );
  }
  config.backend = modelName.slice(dot + 1);
  config.defaultModelFilename = `model.${config.backend}`;
}
