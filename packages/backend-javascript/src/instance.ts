import type {
  ExecuteContext,
  ExecutionTimes,
  InstanceDevice,
  InstanceOutcome,
  InstanceRequest,
} from "@naiad/core";
import type { ModelConfig } from "@naiad/model-config";
import { printConfig } from "@naiad/model-config";
import type { DeviceReport } from "@naiad/protocol";
import { InferenceError, stringifyJson } from "@naiad/protocol";
import type { Bls } from "./bls.ts";
import { createBls } from "./bls.ts";
import { describeFailure } from "./describe-failure.ts";
import { createExecution } from "./execution.ts";
import type { LoadedCode } from "./loaded-code.ts";
import { createLogger } from "./logger.ts";
import { createMetricFamily } from "./metric-family.ts";
import type { Model, ModelArgs } from "./model/model.ts";
import { createModelFiles } from "./model-files.ts";
import type { FileReader, ModelHost } from "./model-host.ts";

export interface JavaScriptInstanceSpec {
  readonly code: LoadedCode;
  readonly config: ModelConfig;
  readonly modelName: string;
  readonly version: number;
  /** As in Triton's texts: `m_0_0`. */
  readonly instanceName: string;
  readonly device: InstanceDevice;
  readonly files: FileReader;
}

export interface JavaScriptExecution {
  /** One per request, in their order. Their outputs' buffers are the caller's. */
  readonly outcomes: readonly InstanceOutcome[];
  readonly times: ExecutionTimes;
}

/** One object of a model's class. */
export interface JavaScriptInstance {
  readonly device: DeviceReport;
  /** Never rejects: what the model does wrong is an outcome of its requests. Takes over the requests' buffers. */
  execute(requests: readonly InstanceRequest[], context: ExecuteContext): Promise<JavaScriptExecution>;
  /** Asks the model itself. Rejects with Triton's texts where it is not ready. */
  checkReady(): Promise<void>;
  /** Calls `finalize`, whose failure is only logged. */
  release(): Promise<void>;
}

/** Rejects with what the model's constructor or `initialize` throws, in Triton's form. */
export async function createJavaScriptInstance(
  spec: JavaScriptInstanceSpec,
  host: ModelHost,
): Promise<JavaScriptInstance> {
  const { code, config, modelName, instanceName } = spec;
  let active = 0;
  const bls = createBls(host, () => active > 0);
  const describe = (thrown: unknown): string => describeFailure(thrown, code.pathOf);
  const model = await initialized(spec, host, bls, describe);
  const execution = createExecution({
    model,
    modelName,
    instanceName,
    path: code.path,
    decoupled: config.modelTransactionPolicy?.decoupled ?? false,
    batching: config.maxBatchSize > 0,
    iterative: isIterative(config),
    describe,
    log: (level, message) => {
      host.log(level, message);
    },
    traceActivity: (traceId, activity) => {
      host.traceActivity(traceId, activity);
    },
    onActivity: (change) => {
      active += change;
    },
  });
  return {
    device: { executionProvider: "javascript", build: "javascript", threads: 1 },
    execute: execution,
    async checkReady() {
      if (model.isReady === undefined) return;
      const isReady: unknown = await asInternal(() => model.isReady?.(), describe);
      if (typeof isReady !== "boolean") {
        throw new InferenceError("INTERNAL", "isReady() must return a boolean value");
      }
      if (isReady) return;
      throw new InferenceError(
        "UNAVAILABLE",
        `Model '${instanceName}' is not ready (user-defined check failed).`,
      );
    },
    async release() {
      bls.end();
      try {
        await model.finalize?.();
      } catch (thrown) {
        host.log("error", `finalize of '${instanceName}' failed: ${describe(thrown)}`);
      }
    },
  };
}

async function initialized(
  spec: JavaScriptInstanceSpec,
  host: ModelHost,
  bls: Bls,
  describe: (thrown: unknown) => string,
): Promise<Model> {
  return asInternal(async () => {
    const model = new spec.code.modelClass();
    await model.initialize?.(modelArgs(spec, host, bls));
    return model;
  }, describe);
}

function modelArgs(spec: JavaScriptInstanceSpec, host: ModelHost, { infer, inferStream }: Bls): ModelArgs {
  const { config, modelName, version, instanceName, device, files } = spec;
  return {
    modelConfig: stringifyJson(printConfig(config)),
    modelName,
    modelVersion: String(version),
    modelInstanceName: instanceName,
    modelInstanceKind: device.kind === "gpu" ? "GPU" : "CPU",
    modelInstanceDeviceId: device.kind === "gpu" ? String(device.adapter) : "0",
    modelRepository: modelName,
    files: createModelFiles(files),
    logger: createLogger(host),
    metricFamily: (options) => createMetricFamily(options, host.metrics),
    infer,
    inferStream,
    loadModel: (name, { config: text, files: overrides } = {}) =>
      host.loadModel({
        modelName: name,
        ...(text !== undefined && { config: text }),
        ...(overrides !== undefined && { files: overrides }),
      }),
    unloadModel: (name, { unloadDependents = false } = {}) =>
      host.unloadModel({ modelName: name, unloadDependents }),
    isModelReady: (name, modelVersion = "") =>
      host.isModelReady({ modelName: name, modelVersion: String(modelVersion) }),
  };
}

function isIterative({ schedulingChoice }: ModelConfig): boolean {
  return schedulingChoice.case === "sequenceBatching" && schedulingChoice.value.iterativeSequence;
}

/** What a model throws outside of `execute`, as an INTERNAL error in Triton's form. */
async function asInternal<Value>(
  task: () => Value | Promise<Value>,
  describe: (thrown: unknown) => string,
): Promise<Value> {
  try {
    return await task();
  } catch (thrown) {
    throw new InferenceError("INTERNAL", describe(thrown), { cause: thrown });
  }
}
