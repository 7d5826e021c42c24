import { InferenceError } from "@naiad/protocol";
import type { GatewayRegistration } from "./gateway-registration.ts";
import { pause } from "./pause.ts";

const PROBE_MS = 20_000;

/** How long a page waits for a new service worker to take control. */
const CONTROL_MS = 3_000;

/**
 * The same where nothing is to be expected: a page that was reloaded while its service worker was active has it from the
 * first, except after a hard reload, when it never gets it. The rest is for one that became active in that very moment.
 */
const HARD_RELOAD_MS = 100;

/** Header by which an answer of Naiad's gateway differs from one that came through the network. */
export const MARKER_HEADER = "x-naiad";

export interface ProbedGateway extends Pick<GatewayRegistration, "wasActive"> {
  readonly container: Pick<ServiceWorkerContainer, "controller">;
}

export interface ProbeOptions {
  /** Whether the page came to be by a reload, of whatever kind. */
  readonly isReload: boolean;
  readonly signal: AbortSignal;
}

/**
 * Fetches `<base>v2/health/live` until the answer is the gateway's own: for a moment after it took control, fetches may
 * still go to the network. Gives false where no service worker controls this page; rejects with UNAVAILABLE when one does
 * and does not answer in time.
 */
export async function probeGateway(
  { container, wasActive }: ProbedGateway,
  base: string,
  { isReload, signal }: ProbeOptions,
): Promise<boolean> {
  const waitMs = wasActive && isReload ? HARD_RELOAD_MS : CONTROL_MS;
  if (!(await controlled(container, waitMs, signal))) return false;
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

async function controlled(
  container: ProbedGateway["container"],
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  while (container.controller === null) {
    if (deadline.aborted) return false;
    await pause(20, deadline);
  }
  return true;
}
