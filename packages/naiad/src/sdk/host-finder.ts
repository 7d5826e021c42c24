import { InferenceError } from "@naiad/protocol";
import type { FindHost, HereIsHost } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import type { GatewayRegistration } from "./gateway-registration.ts";

/** How long one question to the other pages stays open before it is asked again. */
const ANSWER_MS = 1_000;

export interface FoundHost {
  readonly hostId: string;
  readonly port: MessagePort;
}

/**
 * Asks the other pages of this base, through the service worker, for a port to the host. Resolves with `undefined` when
 * nobody answered in time or the signal fired. Rejects with UNAVAILABLE when that page speaks another wire version.
 */
export function findHost(
  gateway: GatewayRegistration,
  base: string,
  peerId: string,
  signal: AbortSignal,
): Promise<FoundHost | undefined> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      gateway.container.removeEventListener("message", listen);
      deadline.removeEventListener("abort", giveUp);
    };
    const giveUp = (): void => {
      stop();
      resolve(undefined);
    };
    const listen = (event: MessageEvent<unknown>): void => {
      const [port] = event.ports;
      if (port === undefined || !isAnswer(event.data, base, peerId)) return;
      stop();
      const { hostId, wireVersion } = event.data;
      if (wireVersion === WIRE_VERSION) {
        resolve({ hostId, port });
      } else {
        port.close();
        reject(otherVersion(wireVersion));
      }
    };
    gateway.container.addEventListener("message", listen);
    gateway.container.startMessages();
    deadline.addEventListener("abort", giveUp, { once: true });
    const question: FindHost = { naiad: "find-host", wireVersion: WIRE_VERSION, base, peerId };
    gateway.active()?.postMessage(question);
    if (deadline.aborted) giveUp();
  });
}

function isAnswer(data: unknown, base: string, peerId: string): data is HereIsHost {
  if (typeof data !== "object" || data === null) return false;
  const message = data as Partial<HereIsHost>;
  return (
    message.naiad === "here-is-host" &&
    message.base === base &&
    message.kind === "client" &&
    message.peerId === peerId
  );
}

function otherVersion(theirs: number): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `the page that runs the server speaks wire version ${theirs} of Naiad and this page ${WIRE_VERSION}: ` +
      "close the other tabs of this site and reload",
  );
}
