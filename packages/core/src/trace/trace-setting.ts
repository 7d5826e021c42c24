import type { TraceLevel, TraceStamp } from "@naiad/protocol";
import { decideSample, type SampleState } from "./decide-sample.ts";
import type { TraceValues } from "./trace-update.ts";

export interface TraceSettingOptions {
  /** Of this setting alone; ascending. */
  readonly id: number;
  readonly values: TraceValues;
  /** Whether it can pick anything out: it traces something, and there is a place for it. */
  readonly isUsable: boolean;
  /** Its count has gone down. */
  readonly onCounted: () => void;
  /** It was replaced, and every trace of its is collected. */
  readonly onEnded: (setting: TraceSetting) => void;
}

/** What the settings of a model or of the server are from one change to the next, with what was counted meanwhile. */
export class TraceSetting {
  readonly id: number;
  readonly #values: TraceValues;
  readonly #onCounted: () => void;
  readonly #onEnded: (setting: TraceSetting) => void;
  readonly isUsable: boolean;
  #state: SampleState;
  #openCount = 0;
  #collectedCount = 0;
  #isReplaced = false;

  constructor({ id, values, isUsable, onCounted, onEnded }: TraceSettingOptions) {
    this.id = id;
    this.#values = values;
    this.isUsable = isUsable;
    this.#onCounted = onCounted;
    this.#onEnded = onEnded;
    this.#state = { seen: 0, remaining: values.count };
  }

  /** As they are now: `count` is what is left of it. */
  get values(): TraceValues {
    return { ...this.#values, count: this.#state.remaining };
  }

  get level(): readonly TraceLevel[] {
    return this.#values.level;
  }

  get logFrequency(): number {
    return this.#values.logFrequency;
  }

  /** Counts a request. `true`: it is traced, and `collect` is to be called when its trace is whole. */
  sample({ isForced }: { readonly isForced: boolean }): boolean {
    if (!this.isUsable) return false;
    const { remaining } = this.#state;
    const { isTraced, state } = decideSample(this.#state, { rate: this.#values.rate, isForced });
    this.#state = state;
    if (isTraced) this.#openCount += 1;
    if (state.remaining !== remaining) this.#onCounted();
    return isTraced;
  }

  /** One of its traces is whole. `tell` gets what is to be known of it. */
  collect(tell: (stamp: TraceStamp) => void): void {
    this.#openCount -= 1;
    this.#collectedCount += 1;
    const { remaining, seen } = this.#state;
    tell({
      id: this.id,
      logFrequency: this.logFrequency,
      // Triton's own condition, which a rate other than 1 never fulfils.
      completes: remaining === 0 && this.#collectedCount === seen,
      counted: this.#values.count >= 0,
    });
    this.#tellEnd();
  }

  /** Others are in its place. */
  replace(): void {
    this.#isReplaced = true;
    this.#tellEnd();
  }

  #tellEnd(): void {
    if (this.#isReplaced && this.#openCount === 0 && this.#collectedCount > 0) this.#onEnded(this);
  }
}
