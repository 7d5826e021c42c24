import type { Clock, InstanceDevice, Logger, PlaceMetrics, WorkerKind } from "@naiad/core";
import type { FaultHook } from "@naiad/link";
import type { DeviceTensor, WatchdogLimits } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { AssetUrls } from "../contracts.ts";
import { WIRE_VERSION } from "../contracts.ts";
import { InstanceWorker } from "./instance-worker.ts";
import type { CreateResult, InstanceOrder, RemoteInstance } from "./remote-instance.ts";
import type { WorkerServices } from "./worker-services.ts";
import type { WorkerSpawner } from "./worker-spawner.ts";

export interface InstanceWorkersOptions {
  readonly spawner: WorkerSpawner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly assets: AssetUrls;
  /** `'Suspending' in WebAssembly`: the smaller of the two GPU builds needs it. */
  readonly hasJspi: boolean;
  /** The CPU build's module where it can be shared. */
  readonly wasmModule: () => Promise<WebAssembly.Module | undefined>;
  /** The server's own limits: for the start of a worker. */
  readonly limits: WatchdogLimits;
  /** What models in the workers may ask of the server. */
  readonly services: WorkerServices;
  /** A fresh id, unlike any other of this origin. */
  readonly newId: () => string;
  readonly whenDead: (workerId: string, signal: AbortSignal) => Promise<void>;
  readonly releasedBytesLimit?: number;
  readonly lingerMs?: number;
  readonly fault?: FaultHook;
}

/** What runs in a worker. */
export type WorkerEngine = "onnxruntime" | "javascript";

export interface Placed {
  readonly engine: WorkerEngine;
  /** Instances with equal keys share a worker. */
  readonly workerKey: string;
  /** For texts, where the key is not fit to be read. */
  readonly label?: string;
  /** In metrics: the same when the model is loaded anew. Default: the key. */
  readonly name?: string;
  readonly device: InstanceDevice;
}

/** The host's instance workers, by key. */
export interface InstanceWorkers {
  /**
   * Makes an instance in the worker of its key, which is started where there is none. Rejects with the worker's error,
   * with CANCELLED after an abort, and with UNAVAILABLE where no worker could be started or the worker died of it.
   */
  create(placed: Placed, order: InstanceOrder, signal: AbortSignal): Promise<RemoteInstance>;
  /** The bytes of a tensor that an instance has left in its worker. Rejects with UNAVAILABLE where that has ended. */
  read(tensor: DeviceTensor): Promise<Uint8Array>;
  /** Those that live now, and how many there were. */
  report(): Pick<PlaceMetrics, "workers" | "workerStarts">;
  /** Ends every worker; whatever still runs is lost. */
  stop(): void;
}

const MAX_ATTEMPTS = 3;
const GIB = 1024 ** 3;

interface Slot {
  /** Never rejects. */
  readonly worker: Promise<InstanceWorker>;
}

/** How a worker starts: the plain way does without what some platforms cannot do. */
type StartStyle = "full" | "plain";

export function createInstanceWorkers(options: InstanceWorkersOptions): InstanceWorkers {
  const slots = new Map<string, Slot>();
  const live = new Map<string, { readonly worker: InstanceWorker; readonly placed: Placed }>();
  const workerStarts: Record<WorkerKind, number> = { cpu: 0, gpu: 0, javascript: 0 };
  let stopped = false;

  async function start(placed: Placed, style: StartStyle, onEnd: () => void): Promise<InstanceWorker> {
    const { workerKey, label = workerKey, device, engine } = placed;
    const isWasm = engine === "onnxruntime" && device.kind === "cpu";
    const wasmModule = isWasm && style === "full" ? await options.wasmModule() : undefined;
    const workerId = options.newId();
    const worker = new InstanceWorker({
      label,
      device: device.kind,
      spawned: options.spawner.spawn(scriptFor(placed, options), `naiad ${label}`),
      start: {
        wireVersion: WIRE_VERSION,
        workerId,
        ortUrl: options.assets.ort,
        threads: isWasm && style === "full" ? device.threads : 1,
        ...(wasmModule !== undefined && { wasmModule }),
      },
      limits: options.limits,
      services: options.services,
      clock: options.clock,
      logger: options.logger,
      releasedBytesLimit: options.releasedBytesLimit ?? GIB,
      lingerMs: options.lingerMs ?? 60_000,
      whenDead: options.whenDead,
      onEnd: () => {
        live.delete(workerId);
        onEnd();
      },
      ...(options.fault && { fault: options.fault }),
    });
    live.set(workerId, { worker, placed });
    workerStarts[kindOf(placed)] += 1;
    if (stopped) worker.terminate(STOPPED);
    return worker;
  }

  function workerFor(placed: Placed, style: StartStyle): Promise<InstanceWorker> {
    const { workerKey } = placed;
    const present = slots.get(workerKey);
    if (present !== undefined) return present.worker;
    const slot: Slot = {
      worker: start(placed, style, () => {
        if (slots.get(workerKey) === slot) slots.delete(workerKey);
      }),
    };
    slots.set(workerKey, slot);
    return slot.worker;
  }

  async function attempt(
    placed: Placed,
    order: InstanceOrder,
    style: StartStyle,
    signal: AbortSignal,
  ): Promise<CreateResult> {
    const worker = await workerFor(placed, style);
    return worker.create(order, signal);
  }

  return {
    async create(placed, order, signal) {
      let style: StartStyle = "full";
      for (let count = 1; ; count += 1) {
        if (stopped) throw new InferenceError("UNAVAILABLE", STOPPED);
        const result = await attempt(placed, order, style, signal);
        const mayTryAgain = count < MAX_ATTEMPTS && !stopped;
        switch (result.kind) {
          case "created":
            return result.instance;
          case "failed":
            throw result.error;
          case "start-failed":
            if (!mayTryAgain || style === "plain") throw result.error;
            style = "plain";
            break;
          case "lost":
            // Its worker died of another's doing, which is no fault of this one.
            if (!mayTryAgain || result.culprit) throw new InferenceError("UNAVAILABLE", result.reason);
            break;
        }
        options.logger.log("warning", retryText(result));
      }
    },
    async read(tensor) {
      const { worker } = live.get(tensor.worker) ?? {};
      if (worker !== undefined) return worker.read(tensor);
      throw new InferenceError("UNAVAILABLE", "the worker that held the tensor has ended");
    },
    report: () => ({
      workers: [...live.values()].map(({ placed, worker }) => ({
        kind: kindOf(placed),
        name: placed.name ?? placed.workerKey,
        ...worker.memory,
      })),
      workerStarts: { ...workerStarts },
    }),
    stop() {
      stopped = true;
      for (const slot of slots.values()) {
        void slot.worker.then((worker) => {
          worker.terminate(STOPPED);
        });
      }
    },
  };
}

function kindOf({ device, engine }: Placed): WorkerKind {
  return engine === "javascript" ? engine : device.kind;
}

const STOPPED = "the server is stopping";

function retryText(result: Extract<CreateResult, { kind: "start-failed" | "lost" }>): string {
  const reason = result.kind === "lost" ? result.reason : result.error.message;
  return `${reason}; another worker is started`;
}

function scriptFor({ engine, device }: Placed, { assets, hasJspi }: InstanceWorkersOptions): string {
  if (engine === "javascript") return assets.instanceJavascript;
  if (device.kind === "cpu") return assets.instanceWasm;
  return hasJspi ? assets.instanceJspi : assets.instanceAsyncify;
}
