import type {
  DeviceTensors,
  GpuAccelerator,
  InstanceHooks,
  OnnxEngine,
  OnnxInstance,
  Ort,
} from "@naiad/backend-onnxruntime";
import {
  createDeviceTensors,
  createOnnxInstance,
  gpuAccelerators,
  startEngine,
} from "@naiad/backend-onnxruntime";
import type { ExecutionTarget } from "@naiad/backend-onnxruntime";
import type { InstanceDevice } from "@naiad/core";
import type { Endpoint, FaultHook } from "@naiad/link";
import { decodeConfig } from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import { createGpuDevices } from "./gpu-devices.ts";
import { firstSupported } from "./first-supported.ts";
import type { InstancePlatform } from "./instance-platform.ts";
import { readModel } from "./read-model.ts";
import { serveInstances } from "./serve-instances.ts";
import type { EngineSurroundings, InstanceEngine } from "./serve-instances.ts";

export interface InstanceWorkerOptions {
  readonly platform: InstancePlatform;
  readonly fault?: FaultHook;
}

/** Serves ONNX models. A GPU that is lost takes the worker along. */
export function runInstanceWorker(scope: Endpoint, engine: OnnxEngine, options: InstanceWorkerOptions): void {
  serveInstances(scope, (surroundings) => onnxEngine(engine, options.platform, surroundings), options);
}

function onnxEngine(
  engine: OnnxEngine,
  platform: InstancePlatform,
  { host, began, lose }: EngineSurroundings,
): InstanceEngine {
  const gpus = createGpuDevices(platform.gpu, lose);
  let ort: Ort | undefined;
  let tensors: DeviceTensors | undefined;

  function deviceTensors(): DeviceTensors {
    invariant(tensors !== undefined, "the engine has started");
    return tensors;
  }

  async function targetOf(device: InstanceDevice, accelerator: GpuAccelerator): Promise<ExecutionTarget> {
    if (device.kind === "cpu") return { kind: "wasm" };
    if (accelerator === "webgpu") {
      return { kind: "webgpu", gpu: await gpus.get(device.adapter), tensors: deviceTensors() };
    }
    if (platform.hasWebNn) return { kind: "webnn" };
    throw new InferenceError("UNSUPPORTED", "WebNN is not available in this browser");
  }

  return {
    build: engine.build,
    async start(settings) {
      ort = await startEngine(engine, settings);
      tensors = createDeviceTensors(settings.workerId);
    },
    gpuBufferBytes: () => gpus.bufferBytes,
    deviceTensors: {
      read: (handle) => deviceTensors().read(handle),
      dispose: (handle) => {
        deviceTensors().dispose(handle);
      },
    },
    async create(input) {
      invariant(ort !== undefined, "the engine has started");
      const engineOf = ort;
      const config = decodeConfig(input.config);
      const content = await readModel(input, config, (location) => platform.openStore(location));
      const hooks: InstanceHooks = {
        onRun: (operation) => {
          began(input.instanceId, operation);
        },
        log: (level, message) => {
          host.notify("log", { level, message: `${input.instanceName}: ${message}` });
        },
      };
      const createOn = async (accelerator: GpuAccelerator): Promise<OnnxInstance> => {
        const target = await targetOf(input.device, accelerator);
        return createOnnxInstance(engineOf, engine.build, { config, target, ...content }, hooks);
      };
      return await firstSupported(gpuAccelerators(config), createOn, (reason) => {
        hooks.log("warning", reason);
      });
    },
  };
}
