import type {
  CancelTimer,
  Clock,
  ExecuteContext,
  ExecutionResult,
  InstanceDevice,
  InstanceRequest,
  Logger,
  LossResult,
} from "@naiad/core";
import { createChannel } from "@naiad/link";
import type { Channel, FaultHook } from "@naiad/link";
import type { DeviceTensor, WatchdogLimits } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type {
  InstanceContract,
  InstanceCreate,
  InstanceCreated,
  InstanceHostContract,
  InstanceWorkerStart,
  WorkerMemory,
} from "../contracts.ts";
import { askReadiness } from "./ask-readiness.ts";
import { createWatchdog } from "./watchdog.ts";
import type { Watchdog } from "./watchdog.ts";
import type { ExecutingWorker } from "./execute-in-worker.ts";
import { executeInWorker } from "./execute-in-worker.ts";
import { openRequestWarning } from "./open-request-warning.ts";
import type { OwedCalls } from "./owed-calls.ts";
import { createOwedCalls } from "./owed-calls.ts";
import { raceAbort } from "./race-abort.ts";
import type { CreateResult, InstanceOrder, RemoteInstance } from "./remote-instance.ts";
import type { ResponseInlets } from "./response-inlets.ts";
import { createResponseInlets } from "./response-inlets.ts";
import { workerHandlers } from "./worker-services.ts";
import type { WorkerServices } from "./worker-services.ts";
import type { SpawnedWorker } from "./worker-spawner.ts";
import { createWorkerTensors } from "./worker-tensors.ts";
import type { WorkerTensors } from "./worker-tensors.ts";
import type { OwedCall } from "./worker-watch.ts";
import { retirementOf } from "./worker-retirement.ts";

export interface InstanceWorkerOptions {
  /** For texts: which worker this is, for example `gpu:0`. */
  readonly label: string;
  readonly device: InstanceDevice["kind"];
  readonly spawned: SpawnedWorker;
  readonly start: InstanceWorkerStart;
  /** `createMs` also limits the start of the worker. */
  readonly limits: WatchdogLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What its models may ask of the server. */
  readonly services: WorkerServices;
  readonly releasedBytesLimit: number;
  /** How long an empty worker is kept for the next instance, where it is kept at all. */
  readonly lingerMs: number;
  /** Resolves when the worker's alive lock is free again, which nothing else tells. */
  readonly whenDead: (workerId: string, signal: AbortSignal) => Promise<void>;
  /** Called once when it is of no more use. */
  readonly onEnd: () => void;
  readonly fault?: FaultHook;
}

interface Tenant {
  readonly order: InstanceOrder;
  readonly running: Set<Promise<unknown>>;
  readonly lose: (reason: string) => void;
}

const NOTHING_LEFT = "nothing is left to do in it";

type Ending = { readonly reason: string; readonly culprit?: string };

/** One instance worker from its start to its end. Afterwards it answers everything with its loss. */
export class InstanceWorker {
  readonly #options: InstanceWorkerOptions;
  readonly #channel: Channel<InstanceContract>;
  readonly #watchdog: Watchdog;
  readonly #owed: OwedCalls;
  readonly #inlets: ResponseInlets;
  readonly #tenants = new Map<string, Tenant>();
  readonly #over = new AbortController();
  readonly #started: Promise<boolean>;
  readonly #tensors: WorkerTensors;
  readonly #executing: ExecutingWorker;
  #ending: Ending | undefined;
  #cancelLinger: CancelTimer = () => undefined;
  #memory: WorkerMemory = { wasmBytes: 0, gpuBufferBytes: 0 };
  #expected = 0;
  #releasedBytes = 0;
  #proven = false;

  constructor(options: InstanceWorkerOptions) {
    this.#options = options;
    const { spawned, clock, services } = options;
    this.#watchdog = createWatchdog(clock, (deadline) => {
      this.#end(deadline.reason, deadline.culprit);
    });
    this.#owed = createOwedCalls(this.#watchdog);
    const handlers = workerHandlers({
      services,
      onWait: (wait) => {
        this.#watchdog.tell({ kind: "waits", wait });
        return () => {
          this.#watchdog.tell({ kind: "heard", wait });
        };
      },
    });
    this.#tensors = createWorkerTensors({
      workerId: options.start.workerId,
      channel: () => this.#channel,
      hasEnded: () => this.#hasEnded(),
      onDisposed: () => {
        this.#retire();
      },
    });
    this.#inlets = createResponseInlets({
      worker: () => this.#channel,
      onClosed: () => {
        this.#retire();
      },
      clock,
      onLeftOpen: openRequestWarning(options),
    });
    this.#channel = createChannel<InstanceContract, InstanceHostContract>(
      spawned.endpoint,
      {
        ...handlers,
        notes: {
          ...handlers.notes,
          ...this.#inlets.notes,
          operation: ({ instanceId, operation }) => {
            this.#watchdog.tell({ kind: "began", instanceId, operation });
          },
          memory: (memory) => {
            this.#memory = memory;
          },
          log: ({ level, message }) => {
            options.logger.log(level, message);
          },
        },
      },
      { peer: `instance worker ${options.label}`, ...(options.fault && { fault: options.fault }) },
    );
    void spawned.failed.then((reason) => {
      this.#end(reason, this.#watchdog.running());
    });
    void this.#channel.closed.then((error) => {
      this.#end(error.message, this.#watchdog.running());
    });
    this.#executing = {
      channel: this.#channel,
      inlets: this.#inlets,
      tensors: this.#tensors,
      owed: this.#owed,
      loss: (instanceId) => (this.#hasEnded() ? this.#loss(instanceId) : undefined),
      ...(options.fault && { fault: options.fault }),
    };
    this.#started = this.#start();
  }

  /** After an abort nothing of the instance is left, though a shared worker may need a moment to be rid of it. */
  async create(order: InstanceOrder, signal: AbortSignal): Promise<CreateResult> {
    this.#expected += 1;
    try {
      if (!(await raceAbort(this.#started, signal))) return { kind: "start-failed", error: this.#error() };
      const { input, transfer } = await raceAbort(order.message(), signal);
      return await this.#create(order, input, transfer, signal);
    } catch (thrown) {
      return { kind: "failed", error: InferenceError.from(thrown) };
    } finally {
      this.#expected -= 1;
      this.#retire();
    }
  }

  /** The bytes of a tensor in its memory. Rejects with UNAVAILABLE where the worker has ended. */
  async read({ handle }: DeviceTensor): Promise<Uint8Array> {
    const { limits, start } = this.#options;
    const call: OwedCall = { instanceId: start.workerId, kind: "read", limits };
    const { bytes } = await this.#owed.wait(call, this.#channel.call("readTensor", { handle }));
    return bytes;
  }

  /** What it has taken when it told last. */
  get memory(): WorkerMemory {
    return this.#memory;
  }

  /** Ends the worker and everything in it. */
  terminate(reason: string): void {
    this.#end(reason);
  }

  /** Whether its engine stands. One that failed once in this worker repeats that failure for ever, so the worker goes. */
  async #start(): Promise<boolean> {
    const { start, limits } = this.#options;
    const call: OwedCall = { instanceId: start.workerId, kind: "start", limits };
    try {
      await this.#owed.wait(call, this.#channel.call("start", start));
    } catch (thrown) {
      this.#end(`it could not start: ${InferenceError.from(thrown).message}`);
      return false;
    }
    // Not earlier: before it has started it need not hold its lock.
    this.#options.whenDead(start.workerId, this.#over.signal).then(
      () => {
        this.#end("the platform ended it", this.#watchdog.running());
      },
      () => {
        // The watch was called off, or the platform has no locks.
      },
    );
    return true;
  }

  async #create(
    order: InstanceOrder,
    input: InstanceCreate,
    transfer: readonly Transferable[],
    signal: AbortSignal,
  ): Promise<CreateResult> {
    if (this.#hasEnded()) return this.#loss(order.instanceId);
    const { instanceId, limits } = order;
    let lose: (reason: string) => void = () => {};
    const lost = new Promise<string>((resolve) => {
      lose = resolve;
    });
    const call: OwedCall = { instanceId, kind: "create", limits };
    try {
      const answer = this.#owed.wait(call, this.#channel.call("create", input, { transfer }));
      const created = await raceAbort(answer, signal);
      const tenant: Tenant = { order, running: new Set(), lose };
      this.#tenants.set(instanceId, tenant);
      this.#proven = true;
      return { kind: "created", instance: this.#instance(tenant, created, lost) };
    } catch (thrown) {
      if (this.#hasEnded()) return this.#loss(instanceId);
      const error = InferenceError.from(thrown);
      if (signal.aborted) this.#forget(order);
      // The engine stands: it looked at the model and knows that it cannot run it.
      else if (error.code === "UNSUPPORTED") this.#proven = true;
      return { kind: "failed", error };
    }
  }

  /** Nobody waits for this instance any more, but its worker is still making it. */
  #forget(order: InstanceOrder): void {
    if (this.#tenants.size === 0 && this.#expected <= 1) {
      this.#end(NOTHING_LEFT);
      return;
    }
    void this.#release(order);
  }

  async #release({ instanceId, limits }: InstanceOrder): Promise<void> {
    if (this.#hasEnded()) return;
    const call: OwedCall = { instanceId, kind: "release", limits };
    try {
      const { releasedBytes } = await this.#owed.wait(call, this.#channel.call("release", { instanceId }));
      this.#releasedBytes += releasedBytes;
    } catch (thrown) {
      if (this.#hasEnded()) return;
      const text = InferenceError.from(thrown).message;
      this.#options.logger.log("warning", `instance worker ${this.#options.label} could not unload: ${text}`);
    }
    this.#retire();
  }

  #instance(tenant: Tenant, created: InstanceCreated, lost: Promise<string>): RemoteInstance {
    let disposed: Promise<void> | undefined;
    const execute = async (
      requests: readonly InstanceRequest[],
      transfer: readonly Transferable[],
      context: ExecuteContext | undefined,
    ): Promise<ExecutionResult> => {
      if (disposed !== undefined)
        return { kind: "lost", reason: "the instance was unloaded", culprit: false };
      try {
        return await executeInWorker(this.#executing, { order: tenant.order, requests, transfer, context });
      } finally {
        this.#retire();
      }
    };
    return {
      ...created,
      deviceMemory: this.#tensors.memory,
      lost,
      execute: (requests, transfer, context) => {
        const result = execute(requests, transfer, context);
        tenant.running.add(result);
        return result.finally(() => tenant.running.delete(result));
      },
      checkReady: () => this.#checkReady(tenant.order.instanceId),
      dispose: () => (disposed ??= this.#dispose(tenant)),
    };
  }

  #checkReady(instanceId: string): Promise<void> {
    const { clock, label } = this.#options;
    return askReadiness({
      instanceId,
      channel: this.#channel,
      clock,
      label,
      isAlone: this.#owed.count + this.#inlets.openCount === 0,
      onStuck: (reason) => {
        this.#end(reason);
      },
    });
  }

  async #dispose(tenant: Tenant): Promise<void> {
    await Promise.all(tenant.running);
    if (!this.#tenants.delete(tenant.order.instanceId)) return;
    const alone = this.#tenants.size === 0 && this.#expected === 0 && this.#owed.count === 0;
    // Nothing frees as surely and as fast as the end of the worker.
    if (this.#options.device === "cpu" && alone) this.#end(NOTHING_LEFT);
    else await this.#release(tenant.order);
  }

  #retire(): void {
    if (this.#hasEnded()) return;
    const { device, releasedBytesLimit, clock, lingerMs } = this.#options;
    const instances = this.#tenants.size + this.#expected;
    const retirement = retirementOf({
      device,
      instances,
      owedCalls: this.#owed.count + this.#inlets.openCount,
      releasedBytes: this.#releasedBytes,
      deviceTensors: this.#tensors.count,
      releasedBytesLimit,
      proven: this.#proven,
    });
    switch (retirement) {
      case "keep":
        return;
      case "terminate":
        this.#end(instances === 0 ? NOTHING_LEFT : "it was renewed to give memory back");
        return;
      case "terminate-unless-used": {
        this.#cancelLinger();
        this.#cancelLinger = clock.after(lingerMs * 1e6, () => {
          const uses = this.#tenants.size + this.#expected + this.#owed.count + this.#tensors.count;
          if (uses === 0) this.#end(NOTHING_LEFT);
        });
        return;
      }
    }
  }

  /** `culprit`: the instance whose own operation brought the end about. */
  #end(reason: string, culprit?: string): void {
    if (this.#hasEnded()) return;
    this.#ending = { reason, ...(culprit !== undefined && { culprit }) };
    // Before anything is answered: the memory of a worker that computes on is what its successor needs.
    this.#options.spawned.terminate();
    this.#watchdog.stop();
    this.#cancelLinger();
    this.#inlets.clear();
    this.#over.abort();
    this.#options.onEnd();
    for (const tenant of this.#tenants.values()) tenant.lose(this.#text());
    this.#tenants.clear();
    this.#channel.close(this.#error());
  }

  /** A method, because the compiler takes a field for unchanged across an `await`. */
  #hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  #text(): string {
    return `instance worker ${this.#options.label} was ended: ${this.#ending?.reason ?? ""}`;
  }

  #error(): InferenceError {
    return new InferenceError("UNAVAILABLE", this.#text());
  }

  #loss(instanceId: string): LossResult {
    return { kind: "lost", reason: this.#text(), culprit: this.#ending?.culprit === instanceId };
  }
}
