import { InferenceError } from "@naiad/protocol";
import type { InstanceSlot } from "./instance-slot.ts";

/** Starts all of them at once; rejects with the first error, or the reason of `signal`, after disposing them all. */
export async function startSlots(slots: readonly InstanceSlot[], signal: AbortSignal): Promise<void> {
  const starting = new AbortController();
  const abort = (): void => {
    starting.abort(signal.reason);
  };
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    const failures: unknown[] = [];
    const starts = slots.map((slot) =>
      slot.start(starting.signal).catch((thrown: unknown) => {
        failures.push(thrown);
        starting.abort(thrown);
      }),
    );
    await Promise.all(starts);
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
  } catch (thrown) {
    await disposeSlots(slots);
    throw InferenceError.from(thrown);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

export async function disposeSlots(slots: readonly InstanceSlot[]): Promise<void> {
  await Promise.all(slots.map((slot) => slot.dispose()));
}
