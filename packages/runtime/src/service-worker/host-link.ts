import type { Clock } from "@naiad/core";
import { createChannel } from "@naiad/link";
import type { Channel, EmptyContract, FaultHook } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { GatewayContract, HereIsHost, WhoIsHost } from "../contracts.ts";
import { WIRE_VERSION } from "../contracts.ts";
import { deferred } from "../host/deferred.ts";
import type { Deferred } from "../host/deferred.ts";
import { within } from "../host/within.ts";
import type { SearchPatience } from "./host-search.ts";
import { isComing, nextSearchStep } from "./host-search.ts";

export interface HostLinkOptions {
  readonly base: string;
  readonly gatewayId: string;
  readonly clock: Clock;
  readonly patience: SearchPatience;
  /** Posts to every page of this origin, whether controlled or not. */
  readonly askPages: (question: WhoIsHost) => Promise<void>;
  /** Takes this gateway's own alive lock. */
  readonly holdAlive: () => Promise<unknown>;
  /** Resolves when the host's alive lock is free, rejects when `signal` fires. */
  readonly whenDead: (hostId: string, signal: AbortSignal) => Promise<void>;
  readonly fault?: FaultHook;
}

/** A port to one host. */
export interface HostConnection {
  readonly hostId: string;
  readonly channel: Channel<GatewayContract>;
  /** Why it can no longer be used; absent while it can. */
  lostBecause(): InferenceError | undefined;
}

/** A gateway's way to the host. It has no memory that a restart could lose: it asks the pages again. */
export interface HostLink {
  /**
   * The host, looked for where none is known. Rejects with UNAVAILABLE when none appears in time or it speaks another
   * wire version. Everybody who waits at the same time waits for the same search.
   */
  connect(): Promise<HostConnection>;
  /** A page's answer; the port is taken over. */
  hereIsHost(message: HereIsHost, port: MessagePort): void;
  /** `pageId` is the client that says so. */
  hostIsComing(pageId: string): void;
  startFailed(pageId: string, reason: string): void;
}

/** How long a host may take to say who it is. */
const INTRODUCTION_MS = 5_000;

interface Search {
  readonly found: Deferred<HostConnection>;
  readonly startNs: number;
  lastSign: { readonly pageId: string; readonly ns: number } | undefined;
  /** The time is that of the first one. */
  failure: { readonly pageId: string; readonly ns: number; readonly reason: string } | undefined;
  cancelTimer: () => void;
}

export function createHostLink(options: HostLinkOptions): HostLink {
  const { clock, patience, base, gatewayId } = options;
  let current: HostConnection | undefined;
  let search: Search | undefined;
  let alive: Promise<unknown> | undefined;

  function beginSearch(): Search {
    const begun: Search = {
      found: deferred(),
      startNs: clock.nowNs(),
      lastSign: undefined,
      failure: undefined,
      cancelTimer: () => undefined,
    };
    search = begun;
    // Before the first question: a host that was given our id would at once take us for dead.
    alive ??= options.holdAlive();
    alive.then(
      () => {
        ask(begun);
      },
      (thrown: unknown) => {
        alive = undefined;
        endSearch(InferenceError.from(thrown));
      },
    );
    return begun;
  }

  function ask(begun: Search): void {
    if (search !== begun) return;
    const now = clock.nowNs();
    const { startNs, lastSign, failure } = begun;
    const sinceSignMs = lastSign && (now - lastSign.ns) / 1e6;
    const step = nextSearchStep(
      {
        elapsedMs: (now - startNs) / 1e6,
        ...(sinceSignMs !== undefined && { sinceSignMs }),
        ...(failure !== undefined && { sinceFailureMs: (now - failure.ns) / 1e6 }),
      },
      patience,
    );
    if (step.kind === "give-up") {
      const why = whyNone({ failure: failure?.reason, isOneComing: isComing(sinceSignMs, patience) });
      endSearch(new InferenceError("UNAVAILABLE", why));
      return;
    }
    const question: WhoIsHost = {
      naiad: "who-is-host",
      wireVersion: WIRE_VERSION,
      base,
      kind: "gateway",
      peerId: gatewayId,
      clientId: "",
    };
    options.askPages(question).catch((thrown: unknown) => {
      endSearch(InferenceError.from(thrown));
    });
    begun.cancelTimer = clock.after(step.nextMs * 1e6, () => {
      ask(begun);
    });
  }

  function endSearch(result: HostConnection | InferenceError): void {
    const ended = search;
    if (ended === undefined) return;
    search = undefined;
    ended.cancelTimer();
    if (result instanceof InferenceError) ended.found.reject(result);
    else ended.found.resolve(result);
  }

  async function introduce(message: HereIsHost, port: MessagePort): Promise<void> {
    const connection = openConnection(message.hostId, port);
    const info = await within(clock, INTRODUCTION_MS, connection.channel.call("hostInfo", {}));
    if (info === undefined) {
      // It died meanwhile, or its page answered for a host that had gone: the search goes on.
      connection.channel.close(new InferenceError("UNAVAILABLE", "the server did not say who it is"));
      return;
    }
    if (info.wireVersion !== WIRE_VERSION) {
      const mismatch = otherVersion(info.wireVersion);
      connection.channel.close(mismatch);
      endSearch(mismatch);
      return;
    }
    const previous = current;
    if (previous?.hostId === message.hostId) {
      // Another answer to the same question was quicker.
      connection.channel.close(ONE_IS_ENOUGH);
      return;
    }
    current = connection;
    // Its successor is there, so it is gone, whatever its lock says yet.
    previous?.channel.close(new InferenceError("UNAVAILABLE", HOST_GONE));
    endSearch(connection);
  }

  function openConnection(hostId: string, port: MessagePort): HostConnection {
    let lost: InferenceError | undefined;
    const over = new AbortController();
    const channel = createChannel<GatewayContract, EmptyContract>(
      port,
      { calls: {}, streams: {}, notes: {} },
      { peer: "the server", ...(options.fault && { fault: options.fault }) },
    );
    const connection: HostConnection = { hostId, channel, lostBecause: () => lost };
    void channel.closed.then((reason) => {
      lost = reason;
      over.abort();
      if (current === connection) current = undefined;
    });
    options.whenDead(hostId, over.signal).then(
      () => {
        channel.close(new InferenceError("UNAVAILABLE", HOST_GONE));
      },
      () => {
        // Called off, because the connection has ended.
      },
    );
    return connection;
  }

  return {
    connect() {
      if (current !== undefined) return Promise.resolve(current);
      return (search ?? beginSearch()).found.promise;
    },
    hereIsHost(message, port) {
      if (message.wireVersion !== WIRE_VERSION) {
        port.close();
        endSearch(otherVersion(message.wireVersion));
        return;
      }
      if (current?.hostId === message.hostId) {
        // A late answer to a question asked twice. It is closed with a goodbye, so that the host forgets it too.
        openConnection(message.hostId, port).channel.close(ONE_IS_ENOUGH);
        return;
      }
      introduce(message, port).catch((thrown: unknown) => {
        endSearch(InferenceError.from(thrown));
      });
    },
    hostIsComing(pageId) {
      if (search === undefined) return;
      search.lastSign = { pageId, ns: clock.nowNs() };
      if (search.failure?.pageId === pageId) search.failure = undefined;
    },
    startFailed(pageId, reason) {
      if (search === undefined) return;
      if (search.lastSign?.pageId === pageId) search.lastSign = undefined;
      const { failure } = search;
      search.failure = { pageId, reason, ns: failure?.ns ?? clock.nowNs() };
      if (failure !== undefined) return;
      // Once more, since there is less time now: who else is there?
      search.cancelTimer();
      ask(search);
    },
  };
}

function whyNone({
  failure,
  isOneComing,
}: {
  readonly failure: string | undefined;
  readonly isOneComing: boolean;
}): string {
  if (failure !== undefined) return `${NO_HOST}: the last start failed: ${failure}`;
  return isOneComing ? NOT_IN_TIME : NO_PAGE;
}

const NO_HOST = "no open page of this site runs Naiad";
const NO_PAGE = `${NO_HOST}: call startServer() in one and wait for it`;
const NOT_IN_TIME = "the page that starts Naiad has not finished in time";
const HOST_GONE = "the page that ran the server was closed";

const ONE_IS_ENOUGH = new InferenceError("UNAVAILABLE", "one port to the server is enough");

function otherVersion(theirs: number): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `the service worker speaks wire version ${WIRE_VERSION} of Naiad and the page that runs the server ${theirs}: ` +
      "close the other tabs of this site and reload",
  );
}
