import type {
  GpuAccelerator,
  InstanceHooks,
  OnnxEngine,
  OnnxInstance,
  Ort,
} from "@naiad/backend-onnxruntime";
import { createOnnxInstance, gpuAccelerators, startEngine } from "@naiad/backend-onnxruntime";
import type { ExecutionTarget } from "@naiad/backend-onnxruntime";
import type { InstanceDevice } from "@naiad/core";
import { createChannel, createSerialQueue, holdAlive } from "@naiad/link";
import type { Channel, Endpoint, FaultHook } from "@naiad/link";
import { decodeConfig } from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import type {
  InstanceContract,
  InstanceCreate,
  InstanceHostContract,
  InstanceWorkerStart,
} from "../contracts.ts";
import { createGpuDevices } from "./gpu-devices.ts";
import { firstSupported } from "./first-supported.ts";
import type { InstancePlatform } from "./instance-platform.ts";
import { outputBuffers } from "./output-buffers.ts";
import { readModel } from "./read-model.ts";

export interface InstanceWorkerOptions {
  readonly platform: InstancePlatform;
  readonly fault?: FaultHook;
}

/**
 * Serves model instances to the host at the other end of `scope` until the host ends the worker, or until its GPU is
 * lost: then it says so and ends itself. The engine does one thing at a time, whichever session it is for, because
 * overlapping runs of the WebGPU builds stop the worker's event loop for good; `operation` notes say when those begin that
 * had to wait.
 */
export function runInstanceWorker(scope: Endpoint, engine: OnnxEngine, options: InstanceWorkerOptions): void {
  const { platform, fault } = options;
  const queue = createSerialQueue();
  const instances = new Map<string, OnnxInstance>();
  const gpus = createGpuDevices(platform.gpu, (reason) => {
    host.close(new InferenceError("UNAVAILABLE", reason));
  });
  let ort: Ort | undefined;
  /** Whether the execution that runs now had to wait: only then the host cannot know when it began. */
  let hasWaited = false;

  async function start(settings: InstanceWorkerStart): Promise<void> {
    if (settings.wireVersion !== WIRE_VERSION) {
      throw new InferenceError(
        "UNAVAILABLE",
        `the instance worker speaks wire version ${WIRE_VERSION} and the host ${settings.wireVersion}: ` +
          "their files come from different versions of Naiad",
      );
    }
    await holdAlive(platform.locks, aliveLock(settings.workerId));
    ort = await startEngine(engine, settings);
  }

  async function targetOf(device: InstanceDevice, accelerator: GpuAccelerator): Promise<ExecutionTarget> {
    if (device.kind === "cpu") return { kind: "wasm" };
    if (accelerator === "webgpu") return { kind: "webgpu", gpu: await gpus.get(device.adapter) };
    if (platform.hasWebNn) return { kind: "webnn" };
    throw new InferenceError("UNSUPPORTED", "WebNN is not available in this browser");
  }

  async function create(input: InstanceCreate): Promise<OnnxInstance> {
    const { instanceId } = input;
    invariant(ort !== undefined, "an instance worker is started before anything else");
    invariant(!instances.has(instanceId), `instance ${instanceId} is new`);
    host.notify("operation", { instanceId, operation: "create" });
    const config = decodeConfig(input.config);
    const content = await readModel(input, config, (location) => platform.openStore(location));
    const engineOf = ort;
    const hooks: InstanceHooks = {
      onRun: (operation) => {
        if (operation === "run" && !hasWaited) return;
        host.notify("operation", { instanceId, operation });
      },
      log: (level, message) => {
        host.notify("log", { level, message: `${input.instanceName}: ${message}` });
      },
    };
    const createOn = async (accelerator: GpuAccelerator): Promise<OnnxInstance> => {
      const target = await targetOf(input.device, accelerator);
      return createOnnxInstance(engineOf, engine.build, { config, target, ...content }, hooks);
    };
    const instance = await firstSupported(gpuAccelerators(config), createOn, (reason) => {
      hooks.log("warning", reason);
    });
    instances.set(instanceId, instance);
    return instance;
  }

  const host: Channel<InstanceHostContract> = createChannel<InstanceHostContract, InstanceContract>(
    scope,
    {
      calls: {
        start: async (settings) => {
          await queue.run(() => start(settings));
          return { value: { build: engine.build } };
        },
        create: async (input, { signal }) => {
          const { device } = await queue.run(() => create(input), signal);
          return { value: { device } };
        },
        execute: ({ instanceId, requests }, { signal }) => {
          const waits = queue.size > 0;
          return queue.run(async () => {
            hasWaited = waits;
            const instance = instances.get(instanceId);
            if (instance === undefined)
              throw new InferenceError("UNAVAILABLE", `there is no instance ${instanceId}`);
            await fault?.("instance.before-execute", instanceId);
            const execution = await instance.execute(requests);
            await fault?.("instance.before-reply", instanceId);
            return { value: execution, transfer: outputBuffers(execution.outcomes) };
          }, signal);
        },
        // Of an instance that was never made, too: the host lets go of those that it gave up while they were created.
        release: ({ instanceId }) =>
          queue.run(async () => {
            const instance = instances.get(instanceId);
            instances.delete(instanceId);
            if (instance === undefined) return { value: { releasedBytes: 0 } };
            host.notify("operation", { instanceId, operation: "release" });
            return { value: { releasedBytes: await instance.release() } };
          }),
      },
      streams: {},
      notes: {},
    },
    { peer: "the host", ...(fault === undefined ? {} : { fault }) },
  );
}
