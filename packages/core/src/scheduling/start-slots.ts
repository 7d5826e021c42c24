import { InferenceError } from "@naiad/protocol";
import { withSignalFan } from "../lifecycle/signal-fan.ts";
import type { InstanceSlot } from "./instance-slot.ts";

/** Starts all of them at once; rejects with the first error, or the reason of `signal`, after disposing them all. */
export async function startSlots(slots: readonly InstanceSlot[], signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    const failures: unknown[] = [];
    await withSignalFan(signal, (fan) =>
      Promise.all(
        slots.map((slot) =>
          fan
            .run((own) => slot.start(own))
            .catch((thrown: unknown) => {
              failures.push(thrown);
              fan.abort(thrown);
            }),
        ),
      ),
    );
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
  } catch (thrown) {
    await disposeSlots(slots);
    throw InferenceError.from(thrown);
  }
}

export async function disposeSlots(slots: readonly InstanceSlot[]): Promise<void> {
  await Promise.all(slots.map((slot) => slot.dispose()));
}
