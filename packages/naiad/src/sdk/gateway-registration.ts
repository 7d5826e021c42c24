import { InferenceError } from "@naiad/protocol";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import { askWireVersion } from "./gateway-version.ts";
import { pause } from "./pause.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { withinPatience } from "./within-patience.ts";

/** How long a service worker's script may take to load. */
const SCRIPT_MS = 30_000;

/** How long a service worker may take from registration to activation. */
const ACTIVATION_MS = 15_000;

/** How long an application may take to register its own service worker, when it began before it called `startServer`. */
const REGISTRATION_MS = 1_000;

/** A service worker that is active for this page's scope; it may not control this very page (hard reload). */
export interface GatewayRegistration {
  readonly container: ServiceWorkerContainer;
  /** Whether it was there before this page asked for it. */
  readonly wasActive: boolean;
  /** The script that is active now: an update replaces it. */
  active(): ServiceWorker | undefined;
}

/**
 * Registers `scriptUrl` for `base`, or waits for the registration that the application makes itself (`false`). A script of
 * another release of Naiad is given up for the one that the server has now. Rejects with UNAVAILABLE where the script cannot
 * be had, does not become active, or speaks another wire version than this page and stays.
 */
export async function registerGateway(
  container: ServiceWorkerContainer,
  scriptUrl: string | false,
  base: string,
  signal: AbortSignal,
): Promise<GatewayRegistration> {
  const found = await registration(container, scriptUrl, base, signal);
  const wasActive = found.active?.state === "activated";
  for (;;) {
    const worker = await activated(found, base, signal);
    const theirs = await askWireVersion(worker, base, signal);
    // Where nobody answers, the probe of the whole road will tell.
    if (theirs === undefined || theirs === WIRE_VERSION) break;
    await successor(found, worker, otherVersion(theirs), signal);
  }
  return { container, wasActive, active: () => found.active ?? undefined };
}

/** The worker that is active, as soon as one is. */
async function activated(
  found: ServiceWorkerRegistration,
  base: string,
  signal: AbortSignal,
): Promise<ServiceWorker> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ACTIVATION_MS)]);
  for (;;) {
    if (found.active?.state === "activated") return found.active;
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new InferenceError("UNAVAILABLE", `the service worker for '${base}' did not become active`);
    await stateChange(found, deadline);
  }
}

/** Waits until another worker than `old` is active; throws `refusal` where none is coming or it does not get there. */
async function successor(
  found: ServiceWorkerRegistration,
  old: ServiceWorker,
  refusal: InferenceError,
  signal: AbortSignal,
): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ACTIVATION_MS)]);
  // Without the network there is no new script either.
  await found.update().catch(() => undefined);
  while (found.active === old) {
    signal.throwIfAborted();
    if (deadline.aborted || (found.installing ?? found.waiting) === null) throw refusal;
    await stateChange(found, deadline);
  }
}

function otherVersion(theirs: number): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `the service worker speaks wire version ${theirs} of Naiad and this page ${WIRE_VERSION}: ` +
      "close the other tabs of this site and reload",
  );
}

async function registration(
  container: ServiceWorkerContainer,
  scriptUrl: string | false,
  base: string,
  signal: AbortSignal,
): Promise<ServiceWorkerRegistration> {
  if (scriptUrl !== false) {
    try {
      const registered = container.register(scriptUrl, { scope: base, updateViaCache: "none" });
      return await withinPatience((ended) => unlessAborted(registered, ended), {
        signal,
        limitMs: SCRIPT_MS,
        refusal: () => `its script did not load within ${SCRIPT_MS / 1000} s`,
      });
    } catch (cause) {
      signal.throwIfAborted();
      const existing = await container.getRegistration(base);
      // Offline the script cannot be fetched again, but the one registered earlier still serves.
      if (existing !== undefined) return existing;
      throw new InferenceError(
        "UNAVAILABLE",
        `cannot register the service worker '${scriptUrl}': ${InferenceError.from(cause).message}`,
        { cause },
      );
    }
  }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(REGISTRATION_MS)]);
  for (;;) {
    const existing = await container.getRegistration(base);
    if (existing !== undefined) return existing;
    signal.throwIfAborted();
    if (deadline.aborted) {
      throw new InferenceError(
        "UNAVAILABLE",
        `no service worker is registered for '${base}': with serviceWorker false the application registers its own ` +
          "before it calls startServer; leave the option out for Naiad's, or use mode 'direct' for none",
      );
    }
    await pause(50, deadline);
  }
}

function stateChange(found: ServiceWorkerRegistration, signal: AbortSignal): Promise<void> {
  const worker = found.installing ?? found.waiting ?? found.active;
  if (worker === null) return pause(50, signal);
  return new Promise((resolve) => {
    const end = (): void => {
      worker.removeEventListener("statechange", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    worker.addEventListener("statechange", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
