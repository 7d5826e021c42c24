import type { QuantileTarget } from "@naiad/protocol";
import type { Clock } from "../ports.ts";
import type { SummaryValue } from "./metric-family.ts";
import { QuantileSketch } from "./quantile-sketch.ts";

/** How long a value counts, and in how many steps it is forgotten: the defaults of prometheus-cpp, which Triton keeps. */
const WINDOW_NS = 60e9;
const SKETCHES = 5;
const STEP_NS = WINDOW_NS / SKETCHES;

/**
 * Count and sum since the beginning, and quantiles of the last minute: of several sketches that all see every value, the
 * one that is asked is the oldest, and every 12 s it begins anew and the next one is the oldest. So what is told comes from
 * the last 48 to 60 s.
 */
export class QuantileWindow {
  readonly #targets: readonly QuantileTarget[];
  readonly #clock: Pick<Clock, "nowNs">;
  /** The oldest first. */
  readonly #sketches: QuantileSketch[];
  #steppedNs: number;
  #count = 0;
  #sum = 0;

  constructor({
    targets,
    clock,
  }: {
    readonly targets: readonly QuantileTarget[];
    readonly clock: Pick<Clock, "nowNs">;
  }) {
    this.#targets = targets;
    this.#clock = clock;
    this.#sketches = Array.from({ length: SKETCHES }, () => new QuantileSketch(targets));
    this.#steppedNs = clock.nowNs();
  }

  observe(value: number): void {
    this.#step();
    this.#count += 1;
    this.#sum += value;
    for (const sketch of this.#sketches) sketch.insert(value);
  }

  value(): SummaryValue {
    this.#step();
    const [oldest] = this.#sketches;
    return {
      count: this.#count,
      sum: this.#sum,
      quantiles: this.#targets.map(({ quantile }) => ({
        quantile,
        value: oldest?.quantile(quantile) ?? NaN,
      })),
    };
  }

  #step(): void {
    const steps = Math.floor((this.#clock.nowNs() - this.#steppedNs) / STEP_NS);
    this.#steppedNs += steps * STEP_NS;
    for (const sketch of this.#sketches.splice(0, Math.min(steps, SKETCHES))) {
      sketch.reset();
      this.#sketches.push(sketch);
    }
  }
}
