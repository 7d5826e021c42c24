import type { Backend, InstanceSpec, ModelFiles } from "@naiad/core";
import type { ModelConfig } from "@naiad/model-config";
import type { WatchdogLimits } from "@naiad/protocol";
import type { InstanceCreate } from "../contracts.ts";
import type { InstanceWorkers } from "./instance-workers.ts";
import { copyRequests, giveBytes } from "./tensor-transfer.ts";
import { watchdogLimits } from "./watchdog-limits.ts";

export interface WorkerBackendOptions {
  readonly name: string;
  readonly prepare: Backend["prepare"];
  readonly workers: InstanceWorkers;
  readonly limits: WatchdogLimits;
  readonly encodeConfig: (config: ModelConfig) => Uint8Array;
  readonly newId: () => string;
}

/** A backend whose instances live in workers. */
export function createWorkerBackend(options: WorkerBackendOptions): Backend {
  return {
    name: options.name,
    prepare: options.prepare,
    async createInstance(spec, signal) {
      const { placement, model } = spec;
      const instanceId = options.newId();
      const order = {
        instanceId,
        limits: watchdogLimits(options.limits, model.config.parameters),
        message: () => createMessage(instanceId, spec, options),
      };
      const instance = await options.workers.create(placement, order, signal);
      return {
        device: instance.device,
        lost: instance.lost,
        dispose: () => instance.dispose(),
        execute: (requests) => {
          const { value, transfer } = copyRequests(requests);
          return instance.execute(value, transfer);
        },
      };
    },
  };
}

async function createMessage(
  instanceId: string,
  { model, placement }: InstanceSpec,
  { name, encodeConfig }: WorkerBackendOptions,
): Promise<{ readonly input: InstanceCreate; readonly transfer: readonly Transferable[] }> {
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
