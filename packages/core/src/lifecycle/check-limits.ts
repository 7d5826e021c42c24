import type { ModelConfig, ModelInput, ModelOutput } from "@naiad/model-config";
import { configDatatype } from "@naiad/model-config";
import type { Capabilities, GpuAdapter } from "@naiad/protocol";
import { tensorByteSize } from "@naiad/protocol";
import type { ModelFile } from "../ports.ts";

const GIB = 1024 ** 3;
/** Protobuf's own limit of one message; ONNX keeps larger weights in files beside the model. */
const PROTOBUF_LIMIT_BYTES = 2 * GIB;

export interface LimitsInput {
  /** The files of one version. */
  readonly files: readonly ModelFile[];
  /** Of them, what is not stored yet. */
  readonly missingBytes: number;
  /** Where the version's instances are to run. */
  readonly devices: ReadonlySet<"cpu" | "gpu">;
  readonly capabilities: Pick<Capabilities, "wasmMemoryLimitBytes" | "storageAvailableBytes">;
}

export interface LimitsResult {
  /** Why this machine cannot load the files. */
  readonly problems: readonly string[];
  /** What goes on with a loss: a model that does not fit into storage runs from memory and is gone after this visit. */
  readonly warnings: readonly string[];
}

/** Holds the files against the limits of the platform before a byte of them is downloaded. */
export function checkLimits({ files, missingBytes, devices, capabilities }: LimitsInput): LimitsResult {
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const { path, size } of files) {
    if (path.endsWith(".onnx") && size >= PROTOBUF_LIMIT_BYTES) {
      problems.push(
        `file '${path}' has ${formatBytes(size)}, but an ONNX file can have at most ${formatBytes(PROTOBUF_LIMIT_BYTES)}: ` +
          "keep its weights as external data",
      );
    }
  }
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0);
  const memoryBytes = capabilities.wasmMemoryLimitBytes;
  if (devices.has("cpu") && totalBytes >= memoryBytes) {
    problems.push(
      `its files have ${formatBytes(totalBytes)}, but an instance on the CPU has at most ${formatBytes(memoryBytes)} of ` +
        "WebAssembly memory for weights and tensors together: use a smaller or quantised model, or KIND_GPU",
    );
  }
  const storageBytes = capabilities.storageAvailableBytes;
  if (storageBytes !== undefined && missingBytes > storageBytes) {
    warnings.push(
      `${formatBytes(missingBytes)} must be downloaded, but the browser grants only ${formatBytes(storageBytes)} of ` +
        "storage: what does not fit stays in memory and is downloaded again on the next visit",
    );
  }
  return { problems, warnings };
}

/** Why an adapter cannot hold a model with this configuration, or `undefined` when nothing is known against it. */
export function gpuProblem(config: ModelConfig, adapter: GpuAdapter): string | undefined {
  const limit = Math.min(adapter.maxBufferSize, adapter.maxStorageBufferBindingSize);
  for (const tensor of [...config.input, ...config.output]) {
    if (isHalf(tensor) && !adapter.features.includes("shader-f16")) {
      return `tensor '${tensor.name}' is TYPE_FP16, for which the GPU lacks the feature shader-f16`;
    }
    const size = largestByteSize(tensor, config.maxBatchSize);
    if (size !== undefined && size > limit) {
      return (
        `tensor '${tensor.name}' can have ${formatBytes(size)}, but a buffer of the GPU has at most ` +
        formatBytes(limit)
      );
    }
  }
  return undefined;
}

function isHalf(tensor: ModelInput | ModelOutput): boolean {
  return configDatatype(tensor.dataType) === "FP16";
}

/** With a full batch; `undefined` where a size is variable. */
function largestByteSize(tensor: ModelInput | ModelOutput, maxBatchSize: number): number | undefined {
  const dims = tensor.dims.map(Number);
  if (dims.some((dim) => dim < 0)) return undefined;
  return tensorByteSize(configDatatype(tensor.dataType), [Math.max(maxBatchSize, 1), ...dims]);
}

/** `3.2 GiB`, `512 bytes`. */
export function formatBytes(bytes: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  if (bytes < 1024) return `${String(bytes)} bytes`;
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit] ?? ""}`;
}
