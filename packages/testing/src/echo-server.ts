import type {
  LogSettings,
  ModelMetadata,
  ModelStatistics,
  OperationHandlers,
  OperationName,
  StatisticDuration,
  StreamOperationName,
  TraceSettings,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

export const ECHO_METADATA: ModelMetadata = {
  name: "echo",
  versions: ["1"],
  platform: "onnxruntime_onnx",
  inputs: [{ name: "X", datatype: "FP32", shape: [-1, 4] }],
  outputs: [{ name: "X", datatype: "FP32", shape: [-1, 4] }],
};
const NONE: StatisticDuration = { count: 0, ns: 0 };
export const ECHO_STATISTICS: ModelStatistics = {
  model_stats: [
    {
      name: "echo",
      version: "1",
      last_inference: 1_700_000_000_000,
      inference_count: 3,
      execution_count: 2,
      inference_stats: {
        success: { count: 3, ns: 2 ** 53 },
        fail: NONE,
        queue: NONE,
        compute_input: NONE,
        compute_infer: NONE,
        compute_output: NONE,
        cache_hit: NONE,
        cache_miss: NONE,
      },
      response_stats: {},
      batch_stats: [],
      memory_usage: [],
    },
  ],
};

export const ECHO_TRACE_SETTINGS: TraceSettings = {
  trace_level: ["OFF"],
  trace_rate: "1000",
  trace_count: "-1",
  log_frequency: "0",
  trace_file: "",
  trace_mode: "triton",
};
export const ECHO_LOG_SETTINGS: LogSettings = {
  log_file: "",
  log_info: true,
  log_warning: true,
  log_error: true,
  log_verbose_level: 0,
  log_format: "default",
};

/** A server with one model that answers with its own inputs. */
export class EchoServer implements OperationHandlers {
  readonly seen: { readonly operation: OperationName | StreamOperationName; readonly input: unknown }[] = [];
  isReady = true;
  /** What `infer` waits for. */
  gate: Promise<void> = Promise.resolve();
  readonly signals: AbortSignal[] = [];

  serverLive: OperationHandlers["serverLive"] = () => Promise.resolve({ live: true });
  serverReady: OperationHandlers["serverReady"] = () => Promise.resolve({ ready: this.isReady });
  serverMetadata: OperationHandlers["serverMetadata"] = () =>
    Promise.resolve({ name: "naiad", version: "2.70.0", extensions: ["binary_tensor_data"] });
  serverMetrics: OperationHandlers["serverMetrics"] = async (input) => {
    await this.#see("serverMetrics", input);
    return { text: "# TYPE echoes counter\nechoes 1\n" };
  };
  modelReady: OperationHandlers["modelReady"] = async (input) => {
    await this.#see("modelReady", input);
    this.#check(input.modelName);
    return { ready: input.modelVersion !== "3" };
  };
  modelMetadata: OperationHandlers["modelMetadata"] = async (input) => {
    await this.#see("modelMetadata", input);
    this.#check(input.modelName);
    return ECHO_METADATA;
  };
  modelConfig: OperationHandlers["modelConfig"] = async (input) => {
    await this.#see("modelConfig", input);
    return { name: input.modelName, max_batch_size: 4, big: 2n ** 60n };
  };
  modelStatistics: OperationHandlers["modelStatistics"] = async (input) => {
    await this.#see("modelStatistics", input);
    return ECHO_STATISTICS;
  };
  modelInfer: OperationHandlers["modelInfer"] = async (input, { signal }) => {
    await this.#see("modelInfer", input);
    this.signals.push(signal);
    this.#check(input.modelName);
    await this.gate;
    return {
      modelName: input.modelName,
      modelVersion: input.modelVersion === "" ? "1" : input.modelVersion,
      id: input.id,
      parameters: input.parameters,
      outputs: input.inputs.map((tensor) => ({ ...tensor })),
    };
  };
  /** Three times the answer of `modelInfer`, each with its number as a parameter. */
  modelStreamInfer: OperationHandlers["modelStreamInfer"] = async (input, context) => {
    const response = await this.modelInfer(input, context);
    const { seen } = this;
    return (async function* () {
      for (const index of [0, 1, 2]) {
        await Promise.resolve();
        seen.push({ operation: "modelStreamInfer", input: index });
        yield { ...response, parameters: { index: BigInt(index) } };
      }
    })();
  };
  repositoryIndex: OperationHandlers["repositoryIndex"] = async (input) => {
    await this.#see("repositoryIndex", input);
    return input.ready ? [] : [{ name: "echo", version: "1", state: "READY" }, { name: "other" }];
  };
  repositoryModelLoad: OperationHandlers["repositoryModelLoad"] = async (input) => {
    await this.#see("repositoryModelLoad", input);
    this.#check(input.modelName);
    return {};
  };
  repositoryModelUnload: OperationHandlers["repositoryModelUnload"] = async (input) => {
    await this.#see("repositoryModelUnload", input);
    return {};
  };

  traceSetting: OperationHandlers["traceSetting"] = async (input) => {
    await this.#see("traceSetting", input);
    return { ...ECHO_TRACE_SETTINGS, trace_rate: input.update?.trace_rate ?? ECHO_TRACE_SETTINGS.trace_rate };
  };
  logSettings: OperationHandlers["logSettings"] = async (input) => {
    await this.#see("logSettings", input);
    return { ...ECHO_LOG_SETTINGS, log_info: input.update?.log_info ?? ECHO_LOG_SETTINGS.log_info };
  };
  systemSharedMemoryStatus: OperationHandlers["systemSharedMemoryStatus"] = async (input) => {
    await this.#see("systemSharedMemoryStatus", input);
    return [{ name: "region", key: "/key", offset: 0, byte_size: 64 }];
  };
  systemSharedMemoryRegister: OperationHandlers["systemSharedMemoryRegister"] = async (input) => {
    await this.#see("systemSharedMemoryRegister", input);
    return {};
  };
  systemSharedMemoryUnregister: OperationHandlers["systemSharedMemoryUnregister"] = async (input) => {
    await this.#see("systemSharedMemoryUnregister", input);
    return {};
  };
  cudaSharedMemoryStatus: OperationHandlers["cudaSharedMemoryStatus"] = async (input) => {
    await this.#see("cudaSharedMemoryStatus", input);
    return [{ name: "region", device_id: 0, byte_size: 64 }];
  };
  cudaSharedMemoryRegister: OperationHandlers["cudaSharedMemoryRegister"] = async (input) => {
    await this.#see("cudaSharedMemoryRegister", input);
    return {};
  };
  cudaSharedMemoryUnregister: OperationHandlers["cudaSharedMemoryUnregister"] = async (input) => {
    await this.#see("cudaSharedMemoryUnregister", input);
    return {};
  };

  lastInput(): unknown {
    return this.seen.at(-1)?.input;
  }

  #see(operation: OperationName, input: unknown): Promise<void> {
    this.seen.push({ operation, input });
    return Promise.resolve();
  }

  #check(modelName: string): void {
    if (modelName === "echo") return;
    throw new InferenceError("NOT_FOUND", `Request for unknown model: '${modelName}' is not found`);
  }
}
