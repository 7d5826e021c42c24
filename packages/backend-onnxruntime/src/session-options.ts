import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { InferenceSession } from "onnxruntime-web";
import { booleanParameter, parameter } from "./config-parameters.ts";
import { webGpuOptions, webNnOptions } from "./execution-accelerators.ts";
import type { ExecutionTarget } from "./execution-target.ts";

type SessionOptions = InferenceSession.SessionOptions;
type OptimizationLevel = NonNullable<SessionOptions["graphOptimizationLevel"]>;

export interface ExternalFile {
  /** Exactly as the model names it. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface SessionOptionsRequest {
  readonly config: ModelConfig;
  readonly target: ExecutionTarget;
  readonly externalFiles: readonly ExternalFile[];
  /** `disabled` for the second attempt on models whose declared shapes contradict themselves. */
  readonly optimization: "configured" | "disabled";
}

/** Session entries of the engine that a configuration may set: Triton passes such entries on by the same names. */
const PASSED_ON = /^(session|optimization|ep\.webgpuexecutionprovider)\./;

/** Entries that break the engine in a browser. */
const REFUSED: Readonly<Record<string, string>> = {
  "session.use_ort_model_bytes_directly": "the engine sets it itself",
  "session.use_ort_model_bytes_for_initializers": "the engine would read freed memory",
  "session.load_model_format": "only ONNX files are read",
  "session.save_model_format": "there is no file system to save to",
  "session.optimized_model_external_initializers_file_name": "there is no file system to save to",
  "session.model_external_initializers_file_folder_path": "external data is found beside the model",
  "session.disable_cpu_ep_fallback": "whether a model runs on WebGPU is decided when it is loaded",
  "session.intra_op.allow_spinning": "it starves the browser's other threads",
  "session.inter_op.allow_spinning": "it starves the browser's other threads",
  "ep.webgpuexecutionprovider.enableGraphCapture": "outputs could not be read",
};

/** What Triton's `optimization { graph { level } }` means to its ONNX Runtime backend; any other number means as much as 0. */
export const GRAPH_LEVELS: ReadonlyMap<number, OptimizationLevel> = new Map<number, OptimizationLevel>([
  [-1, "basic"],
  [0, "all"],
  [1, "extended"],
  [2, "disabled"],
]);

/**
 * Fresh options for one attempt to create a session (the engine writes into what it gets), with exactly one execution
 * provider: given two, the engine falls back to the second without saying so. INVALID_ARG for parameters that make no
 * sense. Thread counts belong to the worker.
 */
export function sessionOptions({
  config,
  target,
  externalFiles,
  optimization,
}: SessionOptionsRequest): SessionOptions {
  return {
    executionProviders: [executionProvider(config, target)],
    graphOptimizationLevel: optimization === "disabled" ? "disabled" : optimizationLevel(config),
    executionMode: executionMode(config, target),
    enableCpuMemArena: booleanParameter(config, "enable_mem_arena"),
    enableMemPattern: booleanParameter(config, "enable_mem_pattern"),
    logSeverityLevel: 4,
    externalData: externalFiles.map(({ path, bytes }) => ({ path, data: bytes })),
    extra: passedOnEntries(config),
  };
}

function executionProvider(
  config: ModelConfig,
  target: ExecutionTarget,
): InferenceSession.ExecutionProviderConfig {
  switch (target.kind) {
    case "wasm":
      return "wasm";
    case "webgpu":
      return webGpuOptions(config, target.gpu.device);
    case "webnn":
      return webNnOptions(config);
  }
}

function optimizationLevel(config: ModelConfig): OptimizationLevel {
  return GRAPH_LEVELS.get(config.optimization?.graph?.level ?? 0) ?? "all";
}

function passedOnEntries(config: ModelConfig): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [key, { stringValue }] of Object.entries(config.parameters)) {
    if (!PASSED_ON.test(key)) continue;
    const reason = Object.hasOwn(REFUSED, key) ? REFUSED[key] : undefined;
    if (reason !== undefined) {
      throw new InferenceError(
        "INVALID_ARG",
        `parameter '${key}' of model '${config.name}' is not allowed: ${reason}`,
      );
    }
    entries[key] = stringValue;
  }
  return entries;
}

/** Providers with a device of their own run one operator after the other, whatever the configuration says. */
function executionMode(
  config: ModelConfig,
  { kind }: ExecutionTarget,
): NonNullable<SessionOptions["executionMode"]> {
  const mode = parameter(config, "execution_mode") ?? "0";
  if (mode === "0") return "sequential";
  if (mode === "1") return kind === "wasm" ? "parallel" : "sequential";
  throw new InferenceError(
    "INVALID_ARG",
    `Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got ${mode} .`,
  );
}
