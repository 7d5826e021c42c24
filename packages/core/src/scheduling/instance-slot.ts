import { InferenceError } from "@naiad/protocol";
import type { InstanceReport } from "@naiad/protocol";
import type {
  CancelTimer,
  Clock,
  ExecutionResult,
  ExecuteContext,
  InstancePlacement,
  InstanceRequest,
  Logger,
  LossResult,
  ModelInstance,
} from "../ports.ts";
import type { CountedDeviceMemory } from "./counted-device-memory.ts";
import { countDeviceTensors } from "./counted-device-memory.ts";
import type { ExecutionResponses } from "./execution-responses.ts";
import { REPLACEMENT, replacementDelayNs } from "./replacement-policy.ts";

export interface InstanceSlotOptions {
  readonly modelName: string;
  readonly version: number;
  readonly placement: InstancePlacement;
  readonly create: (placement: InstancePlacement, signal: AbortSignal) => Promise<ModelInstance>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** It has a new instance, which waits for work. */
  readonly onReady: (slot: InstanceSlot) => void;
  /** Its instance was lost, or it was given up. */
  readonly onDown: (slot: InstanceSlot, reason: string) => void;
}

type SlotState =
  | { readonly kind: "empty" }
  | {
      readonly kind: "idle" | "busy";
      readonly instance: ModelInstance;
      readonly deviceMemory: CountedDeviceMemory | undefined;
      readonly sinceNs: number;
    }
  | { readonly kind: "replacing"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string; readonly sinceNs: number }
  | { readonly kind: "disposed" };

/** The place of one instance of a model: creates it, runs one batch at a time on it and replaces it when it is lost. */
export class InstanceSlot {
  readonly #options: InstanceSlotOptions;
  readonly #ending = new AbortController();
  #state: SlotState = { kind: "empty" };
  #running: Promise<ExecutionResult> | undefined = undefined;
  #replacing: Promise<void> | undefined = undefined;
  #lostWhileBusy: string | undefined = undefined;
  /** Executions that are over and of which decoupled requests are still open, with what resolves when none is. */
  readonly #open = new Map<ExecutionResponses, Promise<void>>();
  #cancelTimer: CancelTimer | undefined = undefined;
  #executionCount = 0;
  #nonFiniteOutputs = 0;
  #readbacks = 0;
  #replacements = 0;
  /** Losses and failed attempts since the last completed execution. */
  #setbacks = 0;
  /** Those of them that count towards giving up. */
  #attempts = 0;

  constructor(options: InstanceSlotOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.placement.instanceName;
  }

  /** Why there is no instance and none is being made, or `undefined`. */
  get failure(): string | undefined {
    return this.#state.kind === "failed" ? this.#state.reason : undefined;
  }

  /** Whether it is what this placement asks for, or about to be. */
  fits({ instanceName, device }: InstancePlacement): boolean {
    const own = this.#options.placement;
    if (own.instanceName !== instanceName || this.failure !== undefined) return false;
    if (own.device.kind === "cpu" || device.kind === "cpu") return own.device.kind === device.kind;
    return own.device.adapter === device.adapter;
  }

  /** Whether there is an instance, idle or not. */
  get isWorking(): boolean {
    return "instance" in this.#state;
  }

  /** Of the instance that is there now. */
  get deviceMemory(): CountedDeviceMemory | undefined {
    return "instance" in this.#state ? this.#state.deviceMemory : undefined;
  }

  /** Rejects where there is an instance that says it is not ready. */
  async checkReady(): Promise<void> {
    if ("instance" in this.#state) await this.#state.instance.checkReady?.();
  }

  get isIdle(): boolean {
    return this.#state.kind === "idle";
  }

  report(): InstanceReport {
    const { modelName, version, placement } = this.#options;
    const state = this.#state;
    const { bytes: deviceBytes = 0, count: deviceTensors = 0 } = this.deviceMemory ?? {};
    const note = [placement.note, "reason" in state ? state.reason : undefined].filter(
      (text) => text !== undefined,
    );
    return {
      modelName,
      version: String(version),
      instanceName: placement.instanceName,
      state: reportedState(state),
      ...("instance" in state ? { device: state.instance.device } : {}),
      ...(note.length > 0 ? { note: note.join("; ") } : {}),
      executionCount: this.#executionCount,
      ...(this.#nonFiniteOutputs > 0 ? { nonFiniteOutputs: this.#nonFiniteOutputs } : {}),
      ...(this.#readbacks > 0 ? { readbacks: this.#readbacks } : {}),
      ...(deviceTensors > 0 ? { deviceTensors, deviceBytes } : {}),
      replacements: this.#replacements,
    };
  }

  /** The first creation. Rejects with the error of the backend and then leaves nothing behind. */
  async start(signal: AbortSignal): Promise<void> {
    const instance = await this.#options.create(this.#options.placement, signal);
    if (this.#ending.signal.aborted) await instance.dispose();
    else this.#install(instance);
  }

  /** Only while idle. Never rejects. */
  async execute(
    requests: readonly InstanceRequest[],
    responses: ExecutionResponses,
  ): Promise<ExecutionResult> {
    const state = this.#state;
    if (state.kind !== "idle") return { kind: "lost", reason: "the instance is not there", culprit: false };
    this.#state = { ...state, kind: "busy" };
    this.#running = settled(state.instance, requests, responses);
    const result = await this.#running;
    this.#running = undefined;
    if (result.kind === "lost") {
      responses.abandon();
      this.#lose(result.reason);
      return result;
    }
    state.deviceMemory?.add(result.outcomes);
    this.#keepOpen(responses, responses.executed(result.outcomes, result.times));
    this.#executionCount += 1;
    this.#nonFiniteOutputs += result.nonFiniteOutputs ?? 0;
    this.#readbacks += result.readbacks ?? 0;
    this.#forgetSetbacks();
    const lostAfterwards = this.#lostWhileBusy;
    if (lostAfterwards !== undefined) this.#lose(lostAfterwards);
    else this.#state = state;
    return result;
  }

  /** A slot that was given up long enough ago tries once more. Returns whether it does. */
  revive(): boolean {
    const state = this.#state;
    if (state.kind !== "failed") return false;
    if (this.#options.clock.nowNs() - state.sinceNs < REPLACEMENT.reviveAfterNs) return false;
    this.#attempts = REPLACEMENT.maxAttempts - 1;
    this.#state = { kind: "replacing", reason: state.reason };
    this.#replacing = this.#replace();
    return true;
  }

  /** Waits for a running execution, and for the decoupled requests that are open. */
  async dispose(): Promise<void> {
    this.#ending.abort();
    this.#cancelTimer?.();
    await this.#running;
    await this.#replacing;
    while (this.#open.size > 0) await Promise.all(this.#open.values());
    const state = this.#state;
    this.#state = { kind: "disposed" };
    if ("instance" in state) await state.instance.dispose();
  }

  #keepOpen(responses: ExecutionResponses, closed: Promise<void> | undefined): void {
    if (closed === undefined) return;
    const forgotten = closed.then(() => {
      this.#open.delete(responses);
    });
    this.#open.set(responses, forgotten);
  }

  #install(instance: ModelInstance): void {
    const { clock } = this.#options;
    this.#lostWhileBusy = undefined;
    const deviceMemory =
      instance.deviceMemory === undefined ? undefined : countDeviceTensors(instance.deviceMemory);
    this.#state = { kind: "idle", instance, deviceMemory, sinceNs: clock.nowNs() };
    void instance.lost.then((reason) => {
      if (!("instance" in this.#state) || this.#state.instance !== instance) return;
      if (this.#state.kind === "busy") {
        this.#lostWhileBusy = reason;
        return;
      }
      if (clock.nowNs() - this.#state.sinceNs < REPLACEMENT.youngNs) this.#attempts += 1;
      else this.#forgetSetbacks();
      this.#lose(reason);
    });
    this.#options.onReady(this);
  }

  #lose(reason: string): void {
    const state = this.#state;
    if (!("instance" in state)) return;
    this.#log("warning", `was lost: ${reason}`);
    this.#setbacks += 1;
    this.#state = { kind: "replacing", reason };
    this.#disposeLost(state.instance);
    for (const responses of this.#open.keys()) {
      responses.lose(
        `instance '${this.name}' of model '${this.#options.modelName}' was lost before the request had ended: ${reason}`,
      );
    }
    this.#options.onDown(this, reason);
    this.#next();
  }

  /** What is left of a lost instance may still hold a worker. */
  #disposeLost(instance: ModelInstance): void {
    instance.dispose().catch((thrown: unknown) => {
      this.#log("warning", `could not be disposed after its loss: ${InferenceError.from(thrown).message}`);
    });
  }

  #forgetSetbacks(): void {
    this.#setbacks = 0;
    this.#attempts = 0;
  }

  #next(): void {
    if (this.#state.kind !== "replacing" || this.#ending.signal.aborted) return;
    const { clock } = this.#options;
    const { reason } = this.#state;
    if (this.#attempts >= REPLACEMENT.maxAttempts) {
      this.#log("error", `was given up after ${this.#attempts} attempts: ${reason}`);
      this.#state = { kind: "failed", reason, sinceNs: clock.nowNs() };
      this.#options.onDown(this, reason);
      return;
    }
    const delayNs = replacementDelayNs(this.#setbacks);
    const replace = (): void => {
      this.#replacing = this.#replace();
    };
    if (delayNs === 0) replace();
    else this.#cancelTimer = clock.after(delayNs, replace);
  }

  /** Never rejects. */
  async #replace(): Promise<void> {
    const { create, placement } = this.#options;
    let instance: ModelInstance;
    try {
      instance = await create(placement, this.#ending.signal);
    } catch (thrown) {
      this.#attempts += 1;
      this.#setbacks += 1;
      if (this.#state.kind === "replacing") {
        this.#state = { kind: "replacing", reason: InferenceError.from(thrown).message };
      }
      this.#next();
      return;
    }
    if (this.#ending.signal.aborted) {
      this.#disposeLost(instance);
      return;
    }
    this.#replacements += 1;
    this.#log("info", "was replaced");
    this.#install(instance);
  }

  #log(level: "info" | "warning" | "error", text: string): void {
    const { logger, modelName, version } = this.#options;
    logger.log(level, `instance '${this.name}' of model '${modelName}' version ${version} ${text}`);
  }
}

function reportedState(state: SlotState): InstanceReport["state"] {
  switch (state.kind) {
    case "idle":
    case "busy":
      return "ready";
    case "empty":
    case "replacing":
      return "loading";
    case "failed":
    case "disposed":
      return "lost";
  }
}

/** An instance that breaks its promise to always resolve counts as lost. */
async function settled(
  instance: ModelInstance,
  requests: readonly InstanceRequest[],
  context: ExecuteContext,
): Promise<ExecutionResult> {
  try {
    return await instance.execute(requests, context);
  } catch (thrown) {
    const loss: LossResult = { kind: "lost", reason: InferenceError.from(thrown).message, culprit: true };
    return loss;
  }
}
