import type {
  Backend,
  ExecuteContext,
  ExecutionResult,
  InstanceRequest,
  InstanceSpec,
  ModelFiles,
} from "@naiad/core";
import type { ModelConfig } from "@naiad/model-config";
import type { WatchdogLimits } from "@naiad/protocol";
import type { InstanceCreate } from "../contracts.ts";
import type { InstanceWorkers, Placed, WorkerEngine } from "./instance-workers.ts";
import { contextOfSome, executeForeign, readsForeignTensors } from "./foreign-tensors.ts";
import type { RemoteInstance } from "./remote-instance.ts";
import { copyRequests, giveBytes } from "./tensor-transfer.ts";
import { watchdogLimits, watchdogWarnings } from "./watchdog-limits.ts";

export interface WorkerBackendOptions {
  readonly name: string;
  /** What runs in its workers. */
  readonly engine: WorkerEngine;
  readonly prepare: Backend["prepare"];
  readonly workers: Pick<InstanceWorkers, "create" | "read">;
  readonly limits: WatchdogLimits;
  readonly encodeConfig: (config: ModelConfig) => Uint8Array;
  readonly newId: () => string;
  readonly warn: (message: string) => void;
  /** Makes a model's files readable at an address while an instance stands. Absent: its workers read them from the store alone. */
  readonly serveFiles?: ServeModelFiles;
}

export type ServeModelFiles = (files: ModelFiles) => Promise<ServedModel>;

export interface ServedModel {
  /** Of the model's directory, with a slash at its end. */
  readonly url: string;
  readonly close: () => void;
}

/** A backend whose instances live in workers. */
export function createWorkerBackend(options: WorkerBackendOptions): Backend {
  return {
    name: options.name,
    prepare: (model, prepareOptions) => {
      for (const warning of watchdogWarnings(model.config.parameters)) {
        options.warn(`model '${model.modelName}': ${warning}`);
      }
      return options.prepare(model, prepareOptions);
    },
    async createInstance(spec, signal) {
      const { instance, dispose } = await createRemoteInstance(spec, options, signal);
      const { config } = spec.model;
      // Others give one response each, with their execution, and cannot be cancelled in it.
      const listens = options.engine === "javascript" || config.modelTransactionPolicy?.decoupled === true;
      // What else runs in the worker of a GPU can neither leave tensors there nor read them.
      const deviceMemory = instance.device.executionProvider === "webgpu" ? instance.deviceMemory : undefined;
      const worker = deviceMemory?.worker;
      const execute = (
        requests: readonly InstanceRequest[],
        context: ExecuteContext | undefined,
      ): Promise<ExecutionResult> => {
        const { value, transfer } = copyRequests(requests);
        return instance.execute(value, transfer, listens ? context : undefined);
      };
      return {
        device: instance.device,
        ...(deviceMemory !== undefined && { deviceMemory }),
        lost: instance.lost,
        dispose,
        ...(options.engine === "javascript" && { checkReady: () => instance.checkReady() }),
        execute: (requests, context) =>
          readsForeignTensors(requests, worker)
            ? executeForeign(requests, {
                worker,
                read: (tensor) => options.workers.read(tensor),
                execute: (some, indices) => execute(some, context && contextOfSome(context, indices)),
              })
            : execute(requests, context),
      };
    },
  };
}

type WorkerPurpose = NonNullable<InstanceCreate["purpose"]>;

export interface CreatedRemote {
  readonly instance: RemoteInstance;
  readonly dispose: () => Promise<void>;
}

/** An instance in a worker: the one of its placement, or for JavaScript one of its own. */
export async function createRemoteInstance(
  spec: InstanceSpec,
  options: Omit<WorkerBackendOptions, "prepare" | "warn">,
  signal: AbortSignal,
  purpose: WorkerPurpose = "serve",
): Promise<CreatedRemote> {
  const { model } = spec;
  const instanceId = options.newId();
  const served = await options.serveFiles?.(model.files);
  const order = {
    instanceId,
    limits: watchdogLimits(options.limits, model.config.parameters),
    message: () => createMessage({ instanceId, spec, options, purpose, served }),
  };
  try {
    const instance = await options.workers.create(placed(instanceId, spec, options), order, signal);
    void instance.lost.then(() => served?.close());
    return {
      instance,
      async dispose() {
        await instance.dispose();
        served?.close();
      },
    };
  } catch (thrown) {
    served?.close();
    throw thrown;
  }
}

/** A model in JavaScript may do anything to the globals around it, and loop for ever. */
function placed(
  instanceId: string,
  { model, placement: { workerKey, device, instanceName } }: InstanceSpec,
  { engine }: Pick<WorkerBackendOptions, "engine">,
): Placed {
  const instance = `${model.modelName}:${String(model.version)}:${instanceName}`;
  switch (engine) {
    case "onnxruntime": {
      const isShared = device.kind === "gpu" && /^gpu:\d+:\d+$/.test(workerKey);
      return { engine, workerKey, device, name: isShared ? workerKey : `${device.kind}:${instance}` };
    }
    case "javascript":
      return {
        engine,
        workerKey: `javascript:${instanceName}:${instanceId}`,
        label: `javascript:${instanceName}`,
        name: `javascript:${instance}`,
        device: { kind: "cpu", threads: 1 },
      };
  }
}

interface MessageParts {
  readonly instanceId: string;
  readonly spec: InstanceSpec;
  readonly options: Pick<WorkerBackendOptions, "name" | "encodeConfig">;
  readonly purpose: WorkerPurpose;
  readonly served: ServedModel | undefined;
}

async function createMessage({
  instanceId,
  spec: { model, placement },
  options: { name, encodeConfig },
  purpose,
  served,
}: MessageParts): Promise<{ readonly input: InstanceCreate; readonly transfer: readonly Transferable[] }> {
  const { files } = model;
  const bytes = files.location.kind === "memory" ? await readAll(files, model.version) : undefined;
  const input: InstanceCreate = {
    instanceId,
    modelName: model.modelName,
    version: model.version,
    instanceName: placement.instanceName,
    backend: name,
    device: placement.device,
    config: encodeConfig(model.config),
    files: files.entries,
    location: files.location,
    ...(bytes !== undefined && { bytes }),
    ...(served !== undefined && { servedAt: served.url }),
    purpose,
  };
  return { input, transfer: Object.values(bytes ?? {}).map(({ buffer }) => buffer) };
}

/** Everything except what belongs to other versions. */
async function readAll(files: ModelFiles, version: number): Promise<Record<string, Uint8Array<ArrayBuffer>>> {
  const contents: Record<string, Uint8Array<ArrayBuffer>> = {};
  for (const { path } of files.entries) {
    const directory = path.slice(0, Math.max(0, path.indexOf("/")));
    if (/^\d+$/.test(directory) && Number(directory) !== version) continue;
    contents[path] = new Uint8Array(giveBytes(await files.read(path)));
  }
  return contents;
}
