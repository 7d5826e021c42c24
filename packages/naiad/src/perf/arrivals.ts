import type { Random } from "./random.ts";

/** When requests are due, whatever becomes of those before. Gives the nanoseconds from one to the next. */
export type Arrivals = () => number;

export type Distribution = "constant" | "poisson";

/** `rate` requests a second. */
export function arrivalsAt(rate: number, distribution: Distribution, random: Random): Arrivals {
  const meanNs = 1e9 / rate;
  if (distribution === "constant") return () => meanNs;
  // 1 - random() is never 0.
  return () => -Math.log(1 - random()) * meanNs;
}

/** The same intervals again and again. */
export function arrivalsAfter(intervalsNs: readonly number[]): Arrivals {
  let index = 0;
  return () => {
    const interval = intervalsNs[index % intervalsNs.length] ?? 0;
    index += 1;
    return interval;
  };
}
