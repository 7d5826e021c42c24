import type { InstanceReport } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Clock, InstancePlacement, Logger, ModelInstance } from "../ports.ts";
import type { Work } from "./after-loss.ts";
import { planAfterLoss } from "./after-loss.ts";
import { InstanceSlot } from "./instance-slot.ts";
import type { WorkSource } from "./work-source.ts";

export interface InstanceGroupOptions {
  readonly modelName: string;
  readonly version: number;
  readonly placements: readonly InstancePlacement[];
  readonly create: (placement: InstancePlacement, signal: AbortSignal) => Promise<ModelInstance>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the start; afterwards `dispose` does. */
  readonly signal: AbortSignal;
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
  /** Takes no more work, waits for what is executing, frees everything. Idempotent. */
  dispose(): Promise<void>;
}

/** Creates all instances; rejects with the first error after disposing those that were made. */
export async function startInstanceGroup(options: InstanceGroupOptions): Promise<InstanceGroup> {
  const group = new LiveInstanceGroup(options);
  await group.start();
  return group;
}

class LiveInstanceGroup implements InstanceGroup {
  readonly #options: InstanceGroupOptions;
  readonly #slots: readonly InstanceSlot[];
  /** The one that has waited longest first. */
  readonly #idle: InstanceSlot[] = [];
  #retries: Work[] = [];
  #source: WorkSource | undefined = undefined;
  #feeding = false;
  #disposed: Promise<void> | undefined = undefined;

  constructor(options: InstanceGroupOptions) {
    this.#options = options;
    const { modelName, version, create, clock, logger } = options;
    this.#slots = options.placements.map(
      (placement) =>
        new InstanceSlot({
          modelName,
          version,
          placement,
          create,
          clock,
          logger,
          onReady: (slot) => {
            this.#becameReady(slot);
          },
          onDown: (slot) => {
            this.#wentDown(slot);
          },
        }),
    );
  }

  async start(): Promise<void> {
    const { signal } = this.#options;
    const starting = new AbortController();
    const abort = (): void => {
      starting.abort(signal.reason);
    };
    signal.addEventListener("abort", abort);
    try {
      signal.throwIfAborted();
      const failures: unknown[] = [];
      const starts = this.#slots.map((slot) =>
        slot.start(starting.signal).catch((thrown: unknown) => {
          failures.push(thrown);
          starting.abort(thrown);
        }),
      );
      await Promise.all(starts);
      signal.throwIfAborted();
      if (failures.length > 0) throw failures[0];
    } catch (thrown) {
      await this.dispose();
      throw InferenceError.from(thrown);
    } finally {
      signal.removeEventListener("abort", abort);
    }
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
    await Promise.all(this.#slots.map((slot) => slot.dispose()));
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
        if (slot.isIdle) this.#idle.push(slot);
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
    const index = this.#idle.indexOf(slot);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#options.onChange?.();
    const failure = this.#failure();
    if (failure === undefined) return;
    this.#failRetries(failure);
    this.#source?.failWaiting(failure);
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
