import type { LockManagerLike } from "@naiad/link";
import { electionLock } from "@naiad/runtime/contracts";

/**
 * Stands for election as the page that runs the host of `base`. `onElected` is called once, when every page that stood
 * earlier has gone; the office is held until `signal` fires. Resolves when the office is given back.
 */
export async function standForElection(
  locks: LockManagerLike,
  base: string,
  options: { readonly signal: AbortSignal; readonly onElected: () => void },
): Promise<void> {
  const { signal, onElected } = options;
  try {
    await locks.request(electionLock(base), { signal }, () => {
      onElected();
      return new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
        if (signal.aborted) resolve();
      });
    });
  } catch (error) {
    // The wait in line ends with the signal's own reason; everything else is a fault of the platform.
    if (!signal.aborted) throw error;
  }
}
