import type { ExecutionTimes } from "@naiad/core";

/** Sums up where the time of an execution goes. */
export class Stopwatch {
  readonly #spent = { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
  #last = performance.now();

  /** Counts the time since the last lap as spent on `phase`. */
  lap(phase: keyof ExecutionTimes): void {
    const now = performance.now();
    this.#spent[phase] += Math.round((now - this.#last) * 1e6);
    this.#last = now;
  }

  result(): ExecutionTimes {
    return { ...this.#spent };
  }
}
