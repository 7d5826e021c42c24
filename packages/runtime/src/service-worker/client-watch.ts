import type { Clock } from "@naiad/core";
import type { GatewayClients } from "./gateway-scope.ts";

const EVERY_NS = 2e9;

export interface ClientWatch {
  /** Fires when the page that asked is known to be gone. */
  readonly signal: AbortSignal;
  stop(): void;
}

/**
 * Tells when nobody waits for an answer any more. A page that is closed or aborts its fetch before the response has come
 * tells the service worker nothing (`request.signal` stays silent in Chromium), so its client id is looked up now and
 * then. A navigation has no client yet.
 */
export function watchClient(
  clients: Pick<GatewayClients, "get">,
  clientId: string,
  clock: Clock,
  requestSignal: AbortSignal,
): ClientWatch {
  const controller = new AbortController();
  let cancelTimer = (): void => undefined;
  let stopped = false;

  function gone(): void {
    controller.abort(new DOMException("the page that asked is gone", "AbortError"));
    stop();
  }

  function lookLater(): void {
    cancelTimer = clock.after(EVERY_NS, () => {
      clients.get(clientId).then(
        (client) => {
          if (stopped) return;
          if (client === undefined) gone();
          else lookLater();
        },
        () => {
          // It cannot be asked; then it counts as there.
        },
      );
    });
  }

  function stop(): void {
    stopped = true;
    cancelTimer();
    requestSignal.removeEventListener("abort", gone);
  }

  if (requestSignal.aborted) {
    gone();
  } else {
    requestSignal.addEventListener("abort", gone);
    if (clientId !== "") lookLater();
  }
  return { signal: controller.signal, stop };
}
