import { InferenceError } from "@naiad/protocol";
import type { HereIsHost, WhoIsHost } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import type { OwnedHost } from "./host-owner.ts";
import { pause } from "./pause.ts";

/** A host worker that dies again and again is restarted ever more slowly, up to this. */
const LONGEST_PAUSE_MS = 10_000;

/** A host that lived this long before it died starts the count anew. */
const STEADY_MS = 10_000;

/**
 * The duties of the page that was elected: keep a host worker running, and give ports to whoever asks for the host.
 */
export interface HostOffice {
  /** The host that runs now; waits while it is being restarted. Rejects when the office was left. */
  host(): Promise<OwnedHost>;
  /** Whether a host runs at this moment. */
  isReady(): boolean;
  /** Whether none does, and one will. */
  isComing(): boolean;
  /** Answers a gateway's question, unless the office is being left. */
  answer(question: WhoIsHost, asker: Pick<ServiceWorker, "postMessage">): Promise<void>;
  /** Stops the host and every duty. Idempotent. */
  leave(): Promise<void>;
}

export interface HostOfficeOptions {
  readonly base: string;
  /** Starts a host worker. A rejection of the very first start ends the office with that error. */
  readonly start: () => Promise<OwnedHost>;
}

export function takeHostOffice({ base, start }: HostOfficeOptions): HostOffice {
  const left = new AbortController();
  let isReady = false;
  const begin = (): Promise<OwnedHost> => {
    const starting = start();
    starting.then(
      (host) => {
        isReady = !host.lost.aborted;
      },
      () => undefined,
    );
    return starting;
  };
  let current = begin();

  const keep = async (): Promise<void> => {
    let failures = 0;
    for (let first = true; ; first = false) {
      const startedAt = performance.now();
      const host = await current.catch(() => undefined);
      if (host === undefined && first) return;
      if (host !== undefined) await aborted(host.lost);
      isReady = false;
      if (performance.now() - startedAt > STEADY_MS) failures = 0;
      await pause(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS), left.signal);
      failures += 1;
      if (left.signal.aborted) return;
      current = begin();
    }
  };
  const kept = keep();

  return {
    host: () => current,
    isReady: () => isReady,
    isComing: () => !isReady && !left.signal.aborted,
    async answer(question, asker) {
      const { kind, peerId, clientId } = question;
      const host = await current;
      if (left.signal.aborted) return;
      const port = await host.openPort(kind, peerId);
      const answer: HereIsHost = {
        naiad: "here-is-host",
        wireVersion: WIRE_VERSION,
        base,
        kind,
        peerId,
        clientId,
        hostId: host.hostId,
      };
      asker.postMessage(answer, [port]);
    },
    async leave() {
      try {
        if (!left.signal.aborted) {
          left.abort(leftError());
          const host = await current.catch(() => undefined);
          await host?.stop();
        }
      } finally {
        await kept;
      }
    },
  };
}

function leftError(): InferenceError {
  return new InferenceError("UNAVAILABLE", "the server was stopped");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
