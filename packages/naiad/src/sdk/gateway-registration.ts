import { InferenceError } from "@naiad/protocol";
import { pause } from "./pause.ts";

/** How long a service worker may take from registration to activation. */
const ACTIVATION_MS = 15_000;

/** A service worker that is active for this page's scope; it may not control this very page (hard reload). */
export interface GatewayRegistration {
  readonly container: ServiceWorkerContainer;
  /** The script that is active now: an update replaces it. */
  active(): ServiceWorker | undefined;
}

/**
 * Registers `scriptUrl` for `base`, or waits for the registration that the application makes itself (`false`).
 * Rejects with UNAVAILABLE where the script cannot be had or does not become active.
 */
export async function registerGateway(
  container: ServiceWorkerContainer,
  scriptUrl: string | false,
  base: string,
  signal: AbortSignal,
): Promise<GatewayRegistration> {
  const found = await registration(container, scriptUrl, base, signal);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ACTIVATION_MS)]);
  while (found.active?.state !== "activated") {
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new InferenceError("UNAVAILABLE", `the service worker for '${base}' did not become active`);
    await stateChange(found, deadline);
  }
  return { container, active: () => found.active ?? undefined };
}

async function registration(
  container: ServiceWorkerContainer,
  scriptUrl: string | false,
  base: string,
  signal: AbortSignal,
): Promise<ServiceWorkerRegistration> {
  if (scriptUrl !== false) {
    try {
      return await container.register(scriptUrl, { scope: base, updateViaCache: "none" });
    } catch (cause) {
      const existing = await container.getRegistration(base);
      // Offline the script cannot be fetched again, but the one registered earlier still serves.
      if (existing !== undefined) return existing;
      throw new InferenceError(
        "UNAVAILABLE",
        `cannot register the service worker '${scriptUrl}': ${String(cause)}`,
        { cause },
      );
    }
  }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ACTIVATION_MS)]);
  for (;;) {
    const existing = await container.getRegistration(base);
    if (existing !== undefined) return existing;
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new InferenceError("UNAVAILABLE", `no service worker is registered for '${base}'`);
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
