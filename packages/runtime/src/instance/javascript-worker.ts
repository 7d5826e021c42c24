import type { CodePlatform, FileReader, JavaScriptInstance, ModelHost } from "@naiad/backend-javascript";
import {
  autoComplete,
  createJavaScriptInstance,
  describeFailure,
  loadCode,
  modelPath,
} from "@naiad/backend-javascript";
import type { Channel, Endpoint, FaultHook } from "@naiad/link";
import { decodeConfig, encodeConfig } from "@naiad/model-config";
import type { DeviceReport } from "@naiad/protocol";
import { invariant } from "@naiad/protocol";
import type { InstanceCreate, InstanceHostContract } from "../contracts.ts";
import type { InstancePlatform } from "./instance-platform.ts";
import { ownBuffers } from "./output-buffers.ts";
import { fileReader } from "./read-model.ts";
import { serveInstances } from "./serve-instances.ts";
import type { EngineInstance, EngineSurroundings, InstanceEngine } from "./serve-instances.ts";

export interface JavaScriptWorkerOptions {
  readonly platform: InstancePlatform;
  readonly code: CodePlatform;
  /** Subscribes to what is thrown where nobody catches it: in a timer, or in a promise that nobody waits for. */
  readonly onUncaught?: (hear: (thrown: unknown) => void) => void;
  readonly fault?: FaultHook;
}

/** Serves models written in JavaScript. */
export function runJavaScriptWorker(scope: Endpoint, options: JavaScriptWorkerOptions): void {
  serveInstances(scope, (surroundings) => javaScriptEngine(options, surroundings), options);
}

const DEVICE: DeviceReport = { executionProvider: "javascript", build: "javascript", threads: 1 };

function javaScriptEngine(
  { platform, code, onUncaught }: JavaScriptWorkerOptions,
  { host, began }: EngineSurroundings,
): InstanceEngine {
  let describe = (thrown: unknown): string => String(thrown);
  onUncaught?.((thrown) => {
    host.notify("log", { level: "error", message: describe(thrown) });
  });
  return {
    build: "javascript",
    start: () => Promise.resolve(),
    async create(input) {
      const config = decodeConfig(input.config);
      const files = filesOf(input, platform);
      const { modelName, version, instanceName, device, servedAt } = input;
      const path = modelPath({ modelName, version, config, paths: files.paths });
      const location = { path, files, ...(servedAt !== undefined && { servedAt }) };
      const loaded = await loadCode(location, code);
      describe = (thrown) => `${instanceName}: nobody caught ${describeFailure(thrown, loaded.pathOf)}`;
      if (input.purpose === "auto-complete") {
        return completion(encodeConfig(await autoComplete(config, modelName, loaded)));
      }
      const instance = await createJavaScriptInstance(
        { code: loaded, config, modelName, version, instanceName, device, files },
        modelHost(host, instanceName),
      );
      return engineInstance(input, instance, began);
    },
  };
}

function engineInstance(
  { instanceId, files }: InstanceCreate,
  instance: JavaScriptInstance,
  began: EngineSurroundings["began"],
): EngineInstance {
  return {
    device: instance.device,
    async execute(requests, context) {
      began(instanceId, "run");
      return { ...(await instance.execute(requests, context)), nonFiniteOutputs: 0 };
    },
    checkReady: () => instance.checkReady(),
    async release() {
      await instance.release();
      return files.reduce((sum, { size }) => sum + size, 0);
    },
  };
}

/** Nothing stands in the worker afterwards. */
function completion(config: Uint8Array): EngineInstance {
  return {
    device: DEVICE,
    config,
    execute: () => {
      invariant(false, "nothing is executed that only completes a configuration");
    },
    release: () => Promise.resolve(0),
  };
}

function filesOf(input: InstanceCreate, platform: InstancePlatform): FileReader {
  return {
    paths: input.files.map(({ path }) => path),
    read: fileReader(input, (location) => platform.openStore(location)),
  };
}

function modelHost(host: Channel<InstanceHostContract>, instanceName: string): ModelHost {
  return {
    log: (level, message) => {
      host.notify("log", { level, message: `${instanceName}: ${message}` });
    },
    traceActivity: (traceId, activity) => {
      host.notify("traceActivity", { traceId, activity });
    },
    infer: (request, signal) => host.call("infer", request, { signal, transfer: ownBuffers(request.inputs) }),
    inferStream: (request, signal) =>
      host.stream("inferStream", request, { signal, transfer: ownBuffers(request.inputs) }),
    loadModel: async (input) => {
      await host.call("loadModel", input);
    },
    unloadModel: async (input) => {
      await host.call("unloadModel", input);
    },
    isModelReady: async (input) => (await host.call("modelReady", input)).ready,
    metrics: {
      declare: async (family) => {
        await host.call("declareMetric", family);
      },
      update: (update) => {
        host.notify("metric", update);
      },
      value: async (metric) => (await host.call("metricValue", metric)).value,
    },
  };
}
