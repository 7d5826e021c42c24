import type { InstanceReport } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Clock, InstancePlacement, Logger } from "../ports.ts";
import type { Work } from "./after-loss.ts";
import { planAfterLoss } from "./after-loss.ts";
import { ExecutionResponses } from "./execution-responses.ts";
import { GroupTurns } from "./group-turns.ts";
import type { InstanceGroup, PreparedInstances, WantedInstances } from "./instance-group.ts";
import { InstanceSlot } from "./instance-slot.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { disposeSlots, startSlots } from "./start-slots.ts";
import type { WorkSource } from "./work-source.ts";

export interface InstanceGroupOptions extends WantedInstances {
  readonly modelName: string;
  readonly version: number;
  /** See `Backend.keepsState`. */
  readonly keepsState?: boolean;
  /** The server's. Absent: an instance executes whenever it is free. */
  readonly rateLimiter?: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something in `status` other than a count has changed. */
  readonly onChange?: () => void;
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
  readonly #turns: GroupTurns;
  #feeding = false;
  #disposed: Promise<void> | undefined = undefined;

  constructor(options: InstanceGroupOptions) {
    this.#options = options;
    this.#turns = new GroupTurns({
      rateLimiter: options.rateLimiter,
      takerOf: (slot) => ({ wants: () => this.#wantsTurn(slot), take: () => this.#offer(slot) }),
    });
  }

  async start(): Promise<void> {
    const instances = await this.prepare(this.#options);
    instances.commit();
  }

  async prepare({ placements, create, signal }: WantedInstances): Promise<PreparedInstances> {
    const added: InstanceSlot[] = [];
    const instances = placements.map((placement) => {
      const present = this.#slots.find((slot) => slot.fits(placement));
      if (present !== undefined) return { placement, slot: present };
      const slot = this.#newSlot(placement, create);
      added.push(slot);
      return { placement, slot };
    });
    const turns = this.#turns.prepare(instances);
    try {
      await startSlots(added, signal);
    } catch (thrown) {
      turns.abandon();
      throw thrown;
    }
    return {
      commit: () => {
        turns.commit();
        this.#replaceSlots(instances.map(({ slot }) => slot));
      },
      abandon: () => {
        turns.abandon();
        return disposeSlots(added);
      },
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
      onDown: (slot, reason) => {
        if (this.#slots.includes(slot)) this.#wentDown(slot, reason);
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
    this.#source?.instancesChanged?.();
    this.wake();
  }

  get instanceCount(): number {
    return this.#slots.length;
  }

  get idleCount(): number {
    return this.#turns.countReady(this.#idle);
  }

  get keepsState(): boolean {
    return this.#options.keepsState === true;
  }

  get instanceNames(): readonly string[] {
    return this.#slots.filter(({ isWorking }) => isWorking).map(({ name }) => name);
  }

  get deviceWorkers(): ReadonlySet<string> {
    return new Set(this.#slots.flatMap(({ deviceMemory }) => deviceMemory?.worker ?? []));
  }

  async checkReady(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.checkReady()));
  }

  serve(source: WorkSource): void {
    this.#source = source;
    this.wake();
  }

  wake(): void {
    if (this.#disposed !== undefined) return;
    const { rateLimiter } = this.#options;
    if (rateLimiter === undefined) this.#feed();
    else rateLimiter.advance();
  }

  #feed(): void {
    if (this.#feeding) return;
    this.#feeding = true;
    try {
      let without = 0;
      for (let slot = this.#idle[0]; slot !== undefined; slot = this.#idle[without]) {
        without = this.#offer(slot) ? 0 : without + 1;
      }
    } finally {
      this.#feeding = false;
    }
  }

  /** Whether there was work for it, which it executes now. */
  #offer(slot: InstanceSlot): boolean {
    const index = this.#idle.indexOf(slot);
    this.#idle.splice(index, 1);
    const work = this.#nextWork(slot);
    if (work === undefined) {
      this.#idle.splice(index, 0, slot);
      return false;
    }
    void this.#run(slot, work);
    return true;
  }

  #wantsTurn(slot: InstanceSlot): boolean {
    if (this.#disposed !== undefined || !this.#idle.includes(slot)) return false;
    return this.#retries.length > 0 || this.#source?.hasWork(slot.name) === true;
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
    this.#turns.leave();
    const { modelName } = this.#options;
    this.#failRetries(
      new InferenceError("UNAVAILABLE", `model '${modelName}' was unloaded before the request was executed`),
    );
  }

  #nextWork({ name }: InstanceSlot): Work | undefined {
    for (;;) {
      const retry = this.#retries.shift();
      if (retry === undefined) break;
      const entries = retry.entries.filter(({ request }) => request?.answered === false);
      if (entries.length > 0) return { ...retry, entries };
    }
    const entries = this.#source?.take(name);
    return entries === undefined ? undefined : { entries, ownLosses: 0, strayLosses: 0 };
  }

  /** Never rejects. */
  async #run(slot: InstanceSlot, work: Work): Promise<void> {
    const { clock } = this.#options;
    const startNs = clock.nowNs();
    const turns = this.#turns.of(slot);
    const { entries } = work;
    const { keepsState } = this;
    const { modelName } = this.#options;
    for (const { request } of entries) request?.endPending();
    const responses = new ExecutionResponses({ entries, startNs, clock, source: this.#source });
    const { deviceMemory } = slot;
    const result = await slot.execute(
      entries.map(({ executed }) => executed),
      responses,
    );
    switch (result.kind) {
      case "completed": {
        const { outcomes, times } = result;
        const isRetry = work.ownLosses > 0;
        const execution = { entries, outcomes, deviceMemory, times, startNs, isRetry };
        this.#source?.executed?.(execution);
        if (slot.isIdle && this.#slots.includes(slot)) this.#idle.push(slot);
        turns?.release();
        this.wake();
        this.#source?.answers.complete(execution);
        return;
      }
      case "lost": {
        const plan = planAfterLoss(work, result, {
          model: modelName,
          name: slot.name,
          keepsState,
          hasAnswered: (entry) => responses.hasAnswered(entry),
        });
        this.#retries.unshift(...plan.retries);
        for (const { request, error } of plan.failures) this.#source?.failed(request, error);
        const failure = this.#failure();
        if (failure !== undefined) this.#failRetries(failure);
        turns?.release();
        this.wake();
      }
    }
  }

  #becameReady(slot: InstanceSlot): void {
    this.#idle.push(slot);
    this.#options.onChange?.();
    this.#source?.instancesChanged?.();
    this.wake();
  }

  #wentDown(slot: InstanceSlot, reason: string): void {
    this.#removeIdle(slot);
    this.#options.onChange?.();
    this.#source?.instanceLost?.(slot.name, reason);
    this.#source?.instancesChanged?.();
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
    for (const { request } of retries.flatMap(({ entries }) => entries)) {
      if (request !== undefined) this.#source?.failed(request, error);
    }
  }
}
