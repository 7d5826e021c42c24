import type { HistogramValue } from "./metric-family.ts";

/** Counts values by the first bound that they do not exceed. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last for values beyond all. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` ascend. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = [...bounds.map(() => 0), 0];
  }

  observe(value: number): void {
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const index = found === -1 ? this.#bounds.length : found;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  value(): HistogramValue {
    let count = 0;
    const upTo = this.#counts.map((own) => (count += own));
    return {
      count,
      sum: this.#sum,
      buckets: this.#bounds.map((upperBound, index) => ({ upperBound, count: upTo[index] ?? 0 })),
    };
  }
}
