import type { EmptyContract, LockManagerLike } from "@naiad/link";
import { createChannel, whenDead } from "@naiad/link";
import { createPortTransport } from "@naiad/client";
import type { ClientContract } from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";
import type { HostIsComing } from "@naiad/runtime/contracts";
import { aliveLock, WIRE_VERSION } from "@naiad/runtime/contracts";
import { standForElection } from "./election.ts";
import type { GatewayRegistration } from "./gateway-registration.ts";
import type { HostLine } from "./host-connection.ts";
import { findHost } from "./host-finder.ts";
import type { HostOffice } from "./host-office.ts";
import { takeHostOffice } from "./host-office.ts";
import type { OwnedHost } from "./host-owner.ts";
import { isHostQuestion } from "./host-question.ts";
import { persistStorage } from "./persist-storage.ts";

/**
 * This page's place among the pages of one base: the first in line runs the host, the others use it and wait for their
 * turn. A page without a service worker sits alone and always runs its own.
 */
export interface HostSeat {
  /** A line to the host that serves now. Ends only with one, with a failed start of an own host, or with `until`'s reason. */
  acquire(until: AbortSignal): Promise<HostLine>;
  /** Resolves when the models of the start are loaded, at once where another page runs the host. Rejects with Triton's text. */
  modelsLoaded(): Promise<void>;
  /** What `acquire` would wait for now, for the text of an error. */
  waitsFor(): string;
  /** Stops an own host after what is in flight, and gives up the place in line, also where the host cannot stop. Idempotent. */
  leave(): Promise<void>;
}

export interface HostSeatOptions {
  readonly base: string;
  readonly gateway: GatewayRegistration | undefined;
  readonly locks: LockManagerLike;
  /** Under whose alive lock this page asks for ports. */
  readonly peerId: string;
  /** Whether the first host of this page's own is a reason to ask the browser not to clear the storage. */
  readonly persistStorage: boolean;
  /** Starts a host worker of this page's own; `successorOf` is the host that served the page before. */
  readonly startHost: (successorOf: string | undefined) => Promise<OwnedHost>;
}

export function takeHostSeat(options: HostSeatOptions): HostSeat {
  const { base, gateway, locks, peerId } = options;
  const left = new AbortController();
  const elected = new AbortController();
  const failed = new AbortController();
  let office: HostOffice | undefined;
  let lastHostId: string | undefined;
  let searches = 0;
  let wantsPersistence = options.persistStorage;

  const askToPersist = async (host: OwnedHost): Promise<void> => {
    if (!wantsPersistence) return;
    wantsPersistence = false;
    try {
      // Absent without a secure context, whatever its type says.
      const { storage }: Partial<Pick<Navigator, "storage">> = navigator;
      const { level, message } = await persistStorage(storage);
      await host.log(level, message);
    } catch {
      // The host is gone, and its log with it.
    }
  };
  const takeOffice = (): void => {
    office = takeHostOffice({
      base,
      start: async () => {
        const host = await options.startHost(lastHostId);
        void askToPersist(host);
        return host;
      },
    });
    elected.abort();
  };
  const lineTo = (hostId: string, port: MessagePort): HostLine => {
    lastHostId = hostId;
    return hostLine(hostId, port, locks);
  };

  let election = Promise.resolve();
  if (gateway === undefined) {
    takeOffice();
  } else {
    answerQuestions(gateway, base, () => ({ office, isSearching: searches > 0 }), left.signal);
    election = standForElection(locks, base, { signal: left.signal, onElected: takeOffice });
    election.catch((error: unknown) => {
      failed.abort(InferenceError.from(error));
    });
  }

  return {
    async acquire(until) {
      const ended = AbortSignal.any([until, failed.signal]);
      searches += 1;
      try {
        for (;;) {
          ended.throwIfAborted();
          if (office !== undefined) {
            const host = await office.host();
            return lineTo(host.hostId, await host.openPort("client", peerId));
          }
          invariant(gateway !== undefined, "a page without a service worker runs its own host");
          const found = await findHost(gateway, base, peerId, AbortSignal.any([ended, elected.signal]));
          if (found !== undefined) return lineTo(found.hostId, found.port);
        }
      } finally {
        searches -= 1;
      }
    },
    async modelsLoaded() {
      const host = await office?.host();
      await host?.ready;
    },
    waitsFor() {
      if (office === undefined) return ANOTHER_PAGE;
      return office.isReady() ? "the host worker does not answer" : "the host worker has not started";
    },
    async leave() {
      try {
        await office?.leave();
      } finally {
        // A place that is kept keeps every page out, this one's next start too.
        left.abort(new InferenceError("UNAVAILABLE", "the server was stopped"));
        await election.catch(() => undefined);
      }
    },
  };
}

const ANOTHER_PAGE =
  "another page of this site has the place of the host and does not answer: close the other tabs of this site and reload";

/** A channel over `port` that is closed when the host dies. */
function hostLine(hostId: string, port: MessagePort, locks: LockManagerLike): HostLine {
  const offers = { calls: {}, streams: {}, notes: {} };
  const channel = createChannel<ClientContract, EmptyContract>(port, offers, { peer: "the server" });
  const open = new AbortController();
  void channel.closed.then(() => {
    open.abort();
  });
  whenDead(locks, aliveLock(hostId), open.signal).then(
    () => {
      channel.close(new InferenceError("UNAVAILABLE", "the page that ran the server is gone"));
    },
    () => undefined,
  );
  return { hostId, channel, transport: createPortTransport(channel) };
}

interface SeatState {
  readonly office: HostOffice | undefined;
  /** This page waits for a host itself, so one is coming: its own or another page's. */
  readonly isSearching: boolean;
}

/** While this page is in office it gives ports to the gateway and, through it, to other pages. */
function answerQuestions(
  { container }: GatewayRegistration,
  base: string,
  state: () => SeatState,
  signal: AbortSignal,
): void {
  const listen = (event: MessageEvent<unknown>): void => {
    const { data, source } = event;
    if (!isHostQuestion(data, base) || !(source instanceof ServiceWorker)) return;
    const { office, isSearching } = state();
    if (office === undefined ? isSearching : office.isComing()) {
      const sign: HostIsComing = { naiad: "host-is-coming", wireVersion: WIRE_VERSION, base };
      source.postMessage(sign);
    }
    // A host that cannot be had is told by silence: the asker asks again.
    office?.answer(data, source).catch(() => undefined);
  };
  container.addEventListener("message", listen);
  signal.addEventListener(
    "abort",
    () => {
      container.removeEventListener("message", listen);
    },
    { once: true },
  );
  container.startMessages();
}
