import type { QuantileTarget } from "@naiad/protocol";

/** A value that stands for `width` values up to itself; its rank is known but for `slack`. */
interface Sample {
  readonly value: number;
  readonly width: number;
  readonly slack: number;
}

const BATCH = 500;

/**
 * Quantiles of a stream in little memory: Cormode, Korn, Muthukrishnan and Srivastava, "Effective Computation of Biased
 * Quantiles over Data Streams" (2005), with targeted quantiles, as Prometheus' client libraries do it. The rank of what is
 * told for a target is wrong by at most its error times the number of values.
 */
export class QuantileSketch {
  readonly #targets: readonly QuantileTarget[];
  #samples: readonly Sample[] = [];
  #pending: number[] = [];
  #count = 0;

  constructor(targets: readonly QuantileTarget[]) {
    this.#targets = targets;
  }

  /** Samples and values held, for tests of how little that is. */
  get size(): number {
    return this.#samples.length + this.#pending.length;
  }

  insert(value: number): void {
    this.#pending.push(value);
    if (this.#pending.length >= BATCH) this.#settle();
  }

  /** NaN before the first value. */
  quantile(quantile: number): number {
    this.#settle();
    const wanted = quantile * this.#count;
    const bound = wanted + this.#allowedSpread(wanted) / 2;
    let rank = 0;
    let answer = this.#samples[0]?.value ?? NaN;
    for (const { value, width, slack } of this.#samples) {
      if (rank + width + slack > bound) break;
      rank += width;
      answer = value;
    }
    return answer;
  }

  reset(): void {
    this.#samples = [];
    this.#pending = [];
    this.#count = 0;
  }

  #settle(): void {
    if (this.#pending.length === 0) return;
    this.#count += this.#pending.length;
    this.#samples = this.#compressed(
      merged(
        this.#samples,
        this.#pending.sort((a, b) => a - b),
      ),
    );
    this.#pending = [];
  }

  /** Lets each sample stand for its predecessor too, where the targets allow that. The smallest and the largest stay. */
  #compressed(samples: readonly Sample[]): readonly Sample[] {
    const kept: Sample[] = [];
    /** Of everything before the last one kept. */
    let rank = 0;
    for (const sample of samples) {
      const last = kept.at(-1);
      const width = sample.width + (last?.width ?? 0);
      if (last !== undefined && kept.length > 1 && width + sample.slack <= this.#allowedSpread(rank)) {
        kept[kept.length - 1] = { ...sample, width };
      } else {
        rank += last?.width ?? 0;
        kept.push(sample);
      }
    }
    return kept;
  }

  /** How many values may lie between neighbouring samples at a rank. */
  #allowedSpread(rank: number): number {
    let least = Infinity;
    for (const { quantile, error } of this.#targets) {
      const spread =
        rank < quantile * this.#count
          ? (2 * error * (this.#count - rank)) / (1 - quantile)
          : (2 * error * rank) / quantile;
      least = Math.min(least, spread);
    }
    return least;
  }
}

/** Both ascending. A new value between two samples is as uncertain in rank as the larger of them. */
function merged(samples: readonly Sample[], values: readonly number[]): readonly Sample[] {
  const result: Sample[] = [];
  let index = 0;
  for (const value of values) {
    let next = samples[index];
    while (next !== undefined && next.value <= value) {
      result.push(next);
      next = samples[(index += 1)];
    }
    const isBetween = next !== undefined && index > 0;
    result.push({
      value,
      width: 1,
      slack: isBetween && next !== undefined ? next.width + next.slack - 1 : 0,
    });
  }
  return [...result, ...samples.slice(index)];
}
