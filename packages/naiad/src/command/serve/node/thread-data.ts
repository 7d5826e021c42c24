import type { MessagePort as ThreadPort } from "node:worker_threads";
import type { Endpoint } from "@naiad/link";
import type { HostStart } from "@naiad/runtime/contracts";

/** What the host's thread begins with. */
export interface HostThreadData {
  readonly start: HostStart;
  /** The host's end of the tunnel. */
  readonly tunnel: ThreadPort;
  /** Of this server alone, and gone after it. */
  readonly directory: string;
}

/** What the host's thread says when it serves. */
export const SERVING = "serving";

/** What an instance's thread begins with. */
export interface InstanceThreadData {
  readonly host: ThreadPort;
  readonly locks: ThreadPort;
}

/** A port for this thread, and the one at its other end for another. */
export function portPair(): { readonly here: MessagePort; readonly there: ThreadPort } {
  const { port1, port2 } = new MessageChannel();
  return { here: port1, there: asThreadPort(port2) };
}

/** The same port, as the two sets of types that are in scope here name it. */
function asThreadPort(port: MessagePort): ThreadPort {
  return port as unknown as ThreadPort;
}

export function asEndpoint(port: ThreadPort): Endpoint {
  return port as unknown as MessagePort;
}
