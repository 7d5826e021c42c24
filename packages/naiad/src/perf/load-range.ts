import { InferenceError } from "@naiad/protocol";

/** The levels of load that are measured, one after the other. */
export interface LoadRange {
  readonly start: number;
  /** The last one; 0: there is none but where the latency goes over its limit. */
  readonly end: number;
  readonly step: number;
}

/** Reads `start[:end[:step]]`, as perf_analyzer does; the end is the start where it is absent. */
export function parseRange(text: string, what: string): LoadRange {
  const parts = text.split(":");
  const numbers = parts.map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) : Number.NaN));
  const [start = Number.NaN, end = start, step = 1] = numbers;
  if (parts.length > 3 || numbers.some(Number.isNaN)) {
    throw new InferenceError("INVALID_ARG", `${what} must be START[:END[:STEP]], but it is '${text}'`);
  }
  const range = { start, end, step };
  if (start <= 0 || step <= 0 || (end !== 0 && end < start)) {
    throw new InferenceError(
      "INVALID_ARG",
      `${what} ${text}: start and step must be above 0, and the end not below the start`,
    );
  }
  return range;
}

/** A level that was measured. */
export interface MeasuredLevel {
  readonly value: number;
  /** Its latency stayed under the limit. */
  readonly isWithinLimit: boolean;
}

export type Search = "linear" | "binary";

/**
 * The level to measure next, if there is one. Linear: from start to end in steps, until one goes over the limit. Binary: the
 * highest level within the limit is looked for, to one step.
 */
export function nextLevel(
  range: LoadRange,
  search: Search,
  measured: readonly MeasuredLevel[],
): number | undefined {
  if (measured.length === 0) return range.start;
  const last = measured.at(-1);
  if (search === "linear") {
    const next = range.start + measured.length * range.step;
    // A sum of steps such as 0.1 may end a little above.
    const isInside = range.end === 0 || next <= range.end + range.step * 1e-9;
    return last?.isWithinLimit === true && isInside ? next : undefined;
  }
  if (measured[0]?.isWithinLimit === false) return undefined;
  if (measured.length === 1) return range.end > range.start ? range.end : undefined;
  if (measured[1]?.isWithinLimit === true) return undefined;
  const low = Math.max(...measured.filter((level) => level.isWithinLimit).map(({ value }) => value));
  const high = Math.min(...measured.filter((level) => !level.isWithinLimit).map(({ value }) => value));
  const middle = low + Math.floor((high - low) / (2 * range.step)) * range.step;
  return middle > low ? middle : undefined;
}
