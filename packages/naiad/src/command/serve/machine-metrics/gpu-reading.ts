import type { GpuMetrics } from "@naiad/core";

/** What a GPU says at one moment. Every member only where it says so. */
export interface GpuReading extends Omit<GpuMetrics, "energyJoules"> {
  /** Since whenever the device began to count. */
  readonly energyCounterJoules?: number;
}

/** The members whose value is known. */
export function knownOf<Value extends object>(values: {
  readonly [Key in keyof Value]: Value[Key] | undefined;
}): Value {
  // What is left out was undefined, and only optional members can be.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Value;
}
