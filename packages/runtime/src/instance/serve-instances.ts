import type { ExecuteContext, ExecutionTimes, InstanceOutcome, InstanceRequest } from "@naiad/core";
import { createChannel, createSerialQueue, holdAlive } from "@naiad/link";
import type { Channel, Endpoint, FaultHook } from "@naiad/link";
import type { DeviceReport } from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import type {
  InstanceContract,
  InstanceCreate,
  InstanceHostContract,
  InstanceWorkerStart,
  WorkerMemory,
} from "../contracts.ts";
import type { InstancePlatform } from "./instance-platform.ts";
import { outputBuffers } from "./output-buffers.ts";
import { createResponseOutlets } from "./response-outlets.ts";

/** What runs a worker's models. */
export interface InstanceEngine {
  /** Which build of it this is, for reports. */
  readonly build: string;
  /** Called once, before anything else. */
  start(settings: InstanceWorkerStart): Promise<void>;
  create(input: InstanceCreate): Promise<EngineInstance>;
  /** Of the buffers that it has on GPUs. Absent: it uses none. */
  gpuBufferBytes?(): number;
  /** What its instances leave on a device. Absent: nothing. */
  readonly deviceTensors?: {
    /** The caller owns the result. Rejects with UNAVAILABLE where the tensor is not there. */
    read(handle: number): Promise<Uint8Array<ArrayBuffer>>;
    dispose(handle: number): void;
  };
}

/** A model in the worker. The worker never overlaps `execute` and `release`, of this instance or of others. */
export interface EngineInstance {
  readonly device: DeviceReport;
  /** proto3 binary: what the model makes of its configuration, where that alone was asked for. */
  readonly config?: Uint8Array;
  /** One outcome per request, in their order. The outputs' buffers belong to the caller. */
  execute(requests: readonly InstanceRequest[], context: ExecuteContext): Promise<EngineExecution>;
  /** Absent where being there is enough. */
  checkReady?(): Promise<void>;
  /** Bytes that the model's files had taken. */
  release(): Promise<number>;
}

export interface EngineExecution {
  readonly outcomes: readonly InstanceOutcome[];
  readonly times: ExecutionTimes;
  readonly nonFiniteOutputs: number;
  readonly readbacks?: number;
}

/** The worker around an engine. */
export interface EngineSurroundings {
  readonly host: Channel<InstanceHostContract>;
  /** Tells that an operation begins, unless the host knows. */
  readonly began: (instanceId: string, operation: "first-run" | "run") => void;
  /** Ends the worker: nothing in it works any more. */
  readonly lose: (reason: string) => void;
}

export interface ServeInstancesOptions {
  readonly platform: InstancePlatform;
  readonly fault?: FaultHook;
}

/**
 * Serves model instances to the host at the other end of `scope` until the host ends the worker, or until the engine loses
 * what it runs on: then it says so and ends itself. One thing is done at a time, whichever instance it is for, because
 * overlapping runs of ONNX Runtime's WebGPU builds stop the worker's event loop for good; `operation` notes say when those
 * begin that had to wait.
 */
export function serveInstances(
  scope: Endpoint,
  makeEngine: (surroundings: EngineSurroundings) => InstanceEngine,
  { platform, fault }: ServeInstancesOptions,
): void {
  const queue = createSerialQueue();
  const outlets = createResponseOutlets(() => host);
  const instances = new Map<string, EngineInstance>();
  let hasStarted = false;
  /** Whether the execution that runs now had to wait: only then the host cannot know when it began. */
  let hasWaited = false;
  let told: WorkerMemory = { wasmBytes: 0, gpuBufferBytes: 0 };

  function tellMemory(): void {
    const wasmBytes = platform.wasmBytes?.() ?? 0;
    const gpuBufferBytes = engine.gpuBufferBytes?.() ?? 0;
    if (wasmBytes === told.wasmBytes && gpuBufferBytes === told.gpuBufferBytes) return;
    told = { wasmBytes, gpuBufferBytes };
    host.notify("memory", told);
  }

  /** After what was asked for before. */
  function inLine<Value>(task: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    return queue.run(async () => {
      try {
        return await task();
      } finally {
        tellMemory();
      }
    }, signal);
  }

  async function start(settings: InstanceWorkerStart): Promise<void> {
    if (settings.wireVersion !== WIRE_VERSION) {
      throw new InferenceError(
        "UNAVAILABLE",
        `the instance worker speaks wire version ${WIRE_VERSION} and the host ${settings.wireVersion}: ` +
          "their files come from different versions of Naiad",
      );
    }
    await holdAlive(platform.locks, aliveLock(settings.workerId));
    await engine.start(settings);
    hasStarted = true;
  }

  async function create(input: InstanceCreate): Promise<EngineInstance> {
    const { instanceId } = input;
    invariant(hasStarted, "an instance worker is started before anything else");
    invariant(!instances.has(instanceId), `instance ${instanceId} is new`);
    host.notify("operation", { instanceId, operation: "create" });
    const instance = await engine.create(input);
    instances.set(instanceId, instance);
    return instance;
  }

  const host: Channel<InstanceHostContract> = createChannel<InstanceHostContract, InstanceContract>(
    scope,
    {
      calls: {
        start: async (settings) => {
          await inLine(() => start(settings));
          return { value: { build: engine.build } };
        },
        create: async (input, { signal }) => {
          const { device, config } = await inLine(() => create(input), signal);
          return { value: { device, ...(config !== undefined && { config }) } };
        },
        execute: ({ instanceId, requests, executionId }, { signal }) => {
          const waits = queue.size > 0;
          // Now: what is cancelled while it waits in the queue is cancelled.
          const context =
            executionId === undefined ? NOBODY_LISTENS : outlets.open(executionId, requests.length);
          return inLine(async () => {
            hasWaited = waits;
            let outcomes: readonly InstanceOutcome[] = [];
            let execution: EngineExecution;
            try {
              const instance = instances.get(instanceId);
              if (instance === undefined)
                throw new InferenceError("UNAVAILABLE", `there is no instance ${instanceId}`);
              await fault?.("instance.before-execute", instanceId);
              execution = await instance.execute(requests, context);
              outcomes = execution.outcomes;
            } finally {
              if (executionId !== undefined) await outlets.executed(executionId, outcomes);
            }
            await fault?.("instance.before-reply", instanceId);
            return { value: execution, transfer: outputBuffers(execution.outcomes) };
          }, signal);
        },
        readTensor: ({ handle }, { signal }) =>
          inLine(async () => {
            const { deviceTensors } = engine;
            if (deviceTensors === undefined)
              throw new InferenceError("UNAVAILABLE", "the worker has no tensors on a device");
            const bytes = await deviceTensors.read(handle);
            return { value: { bytes }, transfer: [bytes.buffer] };
          }, signal),
        checkReady: async ({ instanceId }) => {
          await instances.get(instanceId)?.checkReady?.();
          return { value: {} };
        },
        // Of an instance that was never made, too: the host lets go of those that it gave up while they were created.
        release: ({ instanceId }) =>
          inLine(async () => {
            const instance = instances.get(instanceId);
            instances.delete(instanceId);
            if (instance === undefined) return { value: { releasedBytes: 0 } };
            host.notify("operation", { instanceId, operation: "release" });
            return { value: { releasedBytes: await instance.release() } };
          }),
      },
      streams: {},
      notes: {
        disposeTensor: ({ handle }) => {
          // Not before the executions that read it.
          void inLine(() => {
            engine.deviceTensors?.dispose(handle);
            return Promise.resolve();
          });
        },
        credit: (note) => {
          outlets.credit(note);
        },
        cancel: (note) => {
          outlets.cancel(note);
        },
      },
    },
    { peer: "the host", ...(fault === undefined ? {} : { fault }) },
  );
  void host.closed.then((reason) => {
    outlets.close(reason);
  });
  const engine = makeEngine({
    host,
    began: (instanceId, operation) => {
      if (operation === "run" && !hasWaited) return;
      host.notify("operation", { instanceId, operation });
    },
    lose: (reason) => {
      host.close(new InferenceError("UNAVAILABLE", reason));
    },
  });
}

const NOBODY_LISTENS: ExecuteContext = {
  responses: { response: () => Promise.resolve(), end: () => undefined },
  signals: [],
};
