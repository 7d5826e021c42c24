import type { Endpoint as ComlinkEndpoint } from "comlink";
import type { Endpoint } from "./types.ts";

/** An endpoint as Comlink takes it, that can be taken from it again. */
export interface DetachableEndpoint extends ComlinkEndpoint {
  /** Comlink hears nothing more. */
  detach(): void;
}

/**
 * Comlink sends RELEASE when a proxy is garbage-collected; the exposing side then stops listening and closes its port,
 * which would end the line for everybody else on the same endpoint. Only `detach` ends it here.
 */
export function comlinkEndpoint(endpoint: Endpoint): DetachableEndpoint {
  const listeners: ((event: MessageEvent) => void)[] = [];
  return {
    postMessage(message: unknown, transfer: Transferable[] = []) {
      endpoint.postMessage(message, transfer);
    },
    addEventListener(_type, listener) {
      const forward = (event: MessageEvent): void => {
        if (typeof listener === "function") listener(event);
        else listener.handleEvent(event);
      };
      listeners.push(forward);
      endpoint.addEventListener("message", forward);
    },
    removeEventListener() {
      // Comlink does this after RELEASE only.
    },
    start() {
      endpoint.start?.();
    },
    detach() {
      for (const listener of listeners.splice(0)) endpoint.removeEventListener("message", listener);
    },
  };
}
