import type { Endpoint } from "@naiad/link";

/** An endpoint that can die as a worker does. */
export interface MortalEndpoint extends Endpoint {
  /** It hears and says nothing more, and nobody is told. */
  kill(): void;
}

/** The two ports of a real MessageChannel: what one context and its worker have between them. */
export function realEndpoints(): { readonly left: MortalEndpoint; readonly right: MortalEndpoint } {
  const { port1, port2 } = new MessageChannel();
  return { left: mortal(port1), right: mortal(port2) };
}

function mortal(port: MessagePort): MortalEndpoint {
  return {
    postMessage(message, transfer) {
      port.postMessage(message, transfer);
    },
    addEventListener(type, listener) {
      port.addEventListener(type, listener);
    },
    removeEventListener(type, listener) {
      port.removeEventListener(type, listener);
    },
    start() {
      port.start();
    },
    close() {
      port.close();
    },
    kill() {
      port.close();
    },
  };
}
