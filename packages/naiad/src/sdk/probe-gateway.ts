import { InferenceError } from "@naiad/protocol";
import { pause } from "./pause.ts";

const PROBE_MS = 20_000;

/** How long a page waits for the service worker to take control; after a hard reload it never does. */
const CONTROL_MS = 3_000;

/** Header by which an answer of Naiad's gateway differs from one that came through the network. */
export const MARKER_HEADER = "x-naiad";

/**
 * Fetches `<base>v2/health/live` until the answer is the gateway's own: for a moment after it took control, fetches may
 * still go to the network. Gives false where no service worker controls this page; rejects with UNAVAILABLE when one does
 * and does not answer in time.
 */
export async function probeGateway(
  container: ServiceWorkerContainer,
  base: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await controlled(container, signal))) return false;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  let last = "no answer";
  for (;;) {
    try {
      const response = await fetch(`${base}v2/health/live`, { cache: "no-store", signal: deadline });
      // The gateway's own refusal of a restricted API is an answer too.
      const isAnswer = response.ok || response.status === 403;
      if (isAnswer && response.headers.has(MARKER_HEADER)) return true;
      last = `${response.status} ${response.headers.has(MARKER_HEADER) ? await response.text() : "from the network"}`;
    } catch (error) {
      // The end of the wait says nothing; what came before it does.
      if (!deadline.aborted) last = String(error);
    }
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new InferenceError("UNAVAILABLE", `the service worker does not answer ${base}v2: ${last}`);
    await pause(50, deadline);
  }
}

async function controlled(container: ServiceWorkerContainer, signal: AbortSignal): Promise<boolean> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(CONTROL_MS)]);
  while (container.controller === null) {
    if (deadline.aborted) return false;
    await pause(20, deadline);
  }
  return true;
}
