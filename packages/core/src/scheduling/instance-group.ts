import type { InstanceReport } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Clock, InstancePlacement, Logger, ModelInstance } from "../ports.ts";
import type { Work } from "./after-loss.ts";
import { planAfterLoss } from "./after-loss.ts";
import { InstanceSlot } from "./instance-slot.ts";
import { disposeSlots, startSlots } from "./start-slots.ts";
import type { WorkSource } from "./work-source.ts";

/** The instances that there are to be. */
export interface WantedInstances {
  readonly placements: readonly InstancePlacement[];
  readonly create: (placement: InstancePlacement, signal: AbortSignal) => Promise<ModelInstance>;
  /** Ends their start; afterwards `dispose` does. */
  readonly signal: AbortSignal;
}

export interface InstanceGroupOptions extends WantedInstances {
  readonly modelName: string;
  readonly version: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something in `status` other than a count has changed. */
  readonly onChange?: () => void;
}

/** The live instances of one model version. */
export interface InstanceGroup {
  readonly instanceCount: number;
  /** Instances that wait for work. */
  readonly idleCount: number;
  /** The one source of its work. */
  serve(source: WorkSource): void;
  /** The source may have work. */
  wake(): void;
  /**
   * UNAVAILABLE when no instance works and none is being replaced; `undefined` otherwise. Asking may start another
   * attempt to replace them, once enough time has passed.
   */
  refusal(): InferenceError | undefined;
  status(): readonly InstanceReport[];
  /**
   * Makes the instances that are wanted and not there yet; one of the same name on the same device stays. Nothing changes
   * before the result is committed. Rejects with the first error after disposing those that were made.
   */
  prepare(wanted: WantedInstances): Promise<PreparedInstances>;
  /** Takes no more work, waits for what is executing, frees everything. Idempotent. */
  dispose(): Promise<void>;
}

/** Must be committed or abandoned. */
export interface PreparedInstances {
  /** From now on these instances do the work; the others finish what they execute and are freed. */
  commit(): void;
  abandon(): Promise<void>;
}

/** Creates all instances; rejects with the first error after disposing those that were made. */
export async function startInstanceGroup(options: InstanceGroupOptions): Promise<InstanceGroup> {
  const group = new LiveInstanceGroup(options);
  await group.start();
  return group;
}

class LiveInstanceGroup implements InstanceGroup {
  readonly #options: InstanceGroupOptions;
  #slots: readonly InstanceSlot[] = [];
  /** Ends of slots that were taken out. */
  readonly #leaving = new Set<Promise<void>>();
  /** The one that has waited longest first. */
  readonly #idle: InstanceSlot[] = [];
  #retries: Work[] = [];
  #source: WorkSource | undefined = undefined;
  #feeding = false;
  #disposed: Promise<void> | undefined = undefined;

  constructor(options: InstanceGroupOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const instances = await this.prepare(this.#options);
    instances.commit();
  }

  async prepare({ placements, create, signal }: WantedInstances): Promise<PreparedInstances> {
    const added: InstanceSlot[] = [];
    const slots = placements.map((placement) => {
      const present = this.#slots.find((slot) => slot.fits(placement));
      if (present !== undefined) return present;
      const slot = this.#newSlot(placement, create);
      added.push(slot);
      return slot;
    });
    await startSlots(added, signal);
    return {
      commit: () => {
        this.#replaceSlots(slots);
      },
      abandon: () => disposeSlots(added),
    };
  }

  #newSlot(placement: InstancePlacement, create: WantedInstances["create"]): InstanceSlot {
    const { modelName, version, clock, logger } = this.#options;
    return new InstanceSlot({
      modelName,
      version,
      placement,
      create,
      clock,
      logger,
      onReady: (slot) => {
        if (this.#slots.includes(slot)) this.#becameReady(slot);
      },
      onDown: (slot) => {
        if (this.#slots.includes(slot)) this.#wentDown(slot);
      },
    });
  }

  #replaceSlots(slots: readonly InstanceSlot[]): void {
    const removed = this.#slots.filter((slot) => !slots.includes(slot));
    const added = slots.filter((slot) => !this.#slots.includes(slot));
    this.#slots = slots;
    for (const slot of removed) {
      this.#removeIdle(slot);
      const leaving = slot.dispose().catch((thrown: unknown) => {
        const { message } = InferenceError.from(thrown);
        this.#options.logger.log("error", `failed to free instance '${slot.name}': ${message}`);
      });
      this.#leaving.add(leaving);
      void leaving.then(() => this.#leaving.delete(leaving));
    }
    this.#idle.push(...added.filter((slot) => slot.isIdle));
    this.#options.onChange?.();
    this.wake();
  }

  get instanceCount(): number {
    return this.#slots.length;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  serve(source: WorkSource): void {
    this.#source = source;
    this.wake();
  }

  wake(): void {
    if (this.#feeding || this.#disposed !== undefined) return;
    this.#feeding = true;
    try {
      for (;;) {
        const slot = this.#idle.shift();
        if (slot === undefined) return;
        const work = this.#nextWork();
        if (work === undefined) {
          this.#idle.unshift(slot);
          return;
        }
        void this.#run(slot, work);
      }
    } finally {
      this.#feeding = false;
    }
  }

  refusal(): InferenceError | undefined {
    const failure = this.#failure();
    if (failure === undefined) return undefined;
    return this.#slots.filter((slot) => slot.revive()).length > 0 ? undefined : failure;
  }

  status(): readonly InstanceReport[] {
    return this.#slots.map((slot) => slot.report());
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    await Promise.all([disposeSlots(this.#slots), ...this.#leaving]);
    const { modelName } = this.#options;
    this.#failRetries(
      new InferenceError("UNAVAILABLE", `model '${modelName}' was unloaded before the request was executed`),
    );
  }

  #nextWork(): Work | undefined {
    for (;;) {
      const retry = this.#retries.shift();
      if (retry === undefined) break;
      const requests = retry.requests.filter((request) => !request.answered);
      if (requests.length > 0) return { ...retry, requests };
    }
    const requests = this.#source?.take();
    return requests === undefined ? undefined : { requests, ownLosses: 0, strayLosses: 0 };
  }

  /** Never rejects. */
  async #run(slot: InstanceSlot, work: Work): Promise<void> {
    const startNs = this.#options.clock.nowNs();
    const result = await slot.execute(work.requests.map(({ scheduled }) => scheduled.request));
    switch (result.kind) {
      case "completed":
        if (slot.isIdle && this.#slots.includes(slot)) this.#idle.push(slot);
        this.wake();
        this.#source?.completed({
          requests: work.requests,
          outcomes: result.outcomes,
          times: result.times,
          startNs,
          isRetry: work.ownLosses > 0,
        });
        return;
      case "lost": {
        const plan = planAfterLoss(work, result, { model: this.#options.modelName, name: slot.name });
        this.#retries.unshift(...plan.retries);
        for (const { request, error } of plan.failures) this.#source?.failed(request, error);
        const failure = this.#failure();
        if (failure !== undefined) this.#failRetries(failure);
        this.wake();
      }
    }
  }

  #becameReady(slot: InstanceSlot): void {
    this.#idle.push(slot);
    this.#options.onChange?.();
    this.wake();
  }

  #wentDown(slot: InstanceSlot): void {
    this.#removeIdle(slot);
    this.#options.onChange?.();
    const failure = this.#failure();
    if (failure === undefined) return;
    this.#failRetries(failure);
    this.#source?.failWaiting(failure);
  }

  #removeIdle(slot: InstanceSlot): void {
    const index = this.#idle.indexOf(slot);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  #failure(): InferenceError | undefined {
    const reasons = this.#slots.map((slot) => slot.failure);
    if (reasons.some((reason) => reason === undefined)) return undefined;
    return new InferenceError(
      "UNAVAILABLE",
      `model '${this.#options.modelName}' has no working instance: ${reasons[0] ?? "it has no instances"}`,
    );
  }

  #failRetries(error: InferenceError): void {
    const retries = this.#retries;
    this.#retries = [];
    for (const { requests } of retries) {
      for (const request of requests) this.#source?.failed(request, error);
    }
  }
}
