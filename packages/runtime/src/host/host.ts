import type { Clock, LogLevel } from "@naiad/core";
import type { FaultHook } from "@naiad/link";
import type { TunnelLine } from "@naiad/link/tunnel";
import { InferenceError, invariant } from "@naiad/protocol";
import type { HostControl, HostStart } from "../contracts.ts";
import { WIRE_VERSION } from "../contracts.ts";
import { createClientSession } from "./client-session.ts";
import { deferred } from "./deferred.ts";
import { heldUntilLoaded } from "./held-until-loaded.ts";
import { copyAnswer, createGatewaySession } from "./gateway-session.ts";
import type { HeldAnswer } from "./gateway-session.ts";
import { raceAbort } from "./race-abort.ts";
import { createRepeatedRequests } from "./repeated-requests.ts";
import type { HostServices, Session } from "./session.ts";
import { createTunnelSession } from "./tunnel/tunnel-session.ts";
import { within } from "./within.ts";

/** The server of a host, put together but not started. */
export interface HostParts {
  readonly services: HostServices;
  log(level: LogLevel, message: string): void;
  /** Loads what is to be loaded at start. Rejects where the options make a failure of that fatal. */
  start(signal: AbortSignal): Promise<void>;
  /** Drains, then ends every worker. */
  stop(): Promise<void>;
}

export interface HostOptions {
  readonly clock: Clock;
  /** Builds the server. Called once. */
  readonly compose: (start: HostStart) => Promise<HostParts>;
  /** Takes the lock by which others know that this host lives; the result lets it go. */
  readonly holdAlive: (hostId: string) => Promise<() => void>;
  /** Resolves when the peer's alive lock is free, rejects when `signal` fires. */
  readonly whenDead: (peerId: string, signal: AbortSignal) => Promise<void>;
  /** Connects to the command that started the browser. Absent where no such command can be. */
  readonly openLine?: (url: string) => Promise<TunnelLine>;
  /** How long requests wait for the models of the start. */
  readonly loadWaitMs?: number;
  readonly orphanMs?: number;
  readonly recordMs?: number;
  readonly fault?: FaultHook;
}

/** The host worker's whole life, apart from how its server is made. */
export function createHost(options: HostOptions): HostControl {
  const { clock } = options;
  const stopping = new AbortController();
  const sessions = new Set<Session>();
  const repeated = createRepeatedRequests<HeldAnswer>({
    clock,
    orphanMs: options.orphanMs ?? 10_000,
    recordMs: options.recordMs ?? 10_000,
    copy: copyAnswer,
    drop: (answer) => {
      answer.abandon();
    },
  });
  const composed = deferred<HostParts>();
  const loaded = deferred<undefined>();
  let isLoading = true;
  let wasStarted = false;
  let letGo = (): void => undefined;

  async function compose(start: HostStart): Promise<HostParts> {
    if (start.wireVersion !== WIRE_VERSION) {
      throw new InferenceError(
        "UNAVAILABLE",
        `the host worker speaks wire version ${WIRE_VERSION} and the page ${start.wireVersion}: ` +
          "their files come from different versions of Naiad",
      );
    }
    letGo = await options.holdAlive(start.hostId);
    return options.compose(start);
  }

  async function load(parts: HostParts): Promise<undefined> {
    try {
      await parts.start(stopping.signal);
    } finally {
      isLoading = false;
    }
  }

  function whileLoading(signal: AbortSignal): Promise<void> | undefined {
    if (!isLoading) return undefined;
    return within(clock, options.loadWaitMs ?? 10_000, raceAbort(loaded.promise, signal));
  }

  function open(
    kind: "client" | "gateway",
    peerId: string,
    port: MessagePort,
    services: HostServices,
  ): Session {
    const fault = options.fault && { fault: options.fault };
    switch (kind) {
      case "client":
        return createClientSession({ port, peerId, services, ...fault });
      case "gateway":
        return createGatewaySession({ port, gatewayId: peerId, services, repeated, clock, ...fault });
    }
  }

  /** Ends the session when its peer has died, which no event of the port tells. */
  async function watchPeer(kind: "client" | "gateway", peerId: string, session: Session): Promise<void> {
    const over = new AbortController();
    void session.closed.then(() => {
      sessions.delete(session);
      over.abort();
    });
    try {
      await options.whenDead(peerId, over.signal);
    } catch {
      return;
    }
    // First, so that the end of the session does not take its requests along.
    if (kind === "gateway") repeated.gatewayDied(peerId);
    session.close(new InferenceError("CANCELLED", `${kind} ${peerId} is gone`));
  }

  async function end(): Promise<void> {
    const stopped = new InferenceError("UNAVAILABLE", STOPPED);
    stopping.abort(stopped);
    // Where nothing has been built, nothing ever will be, and whoever waits for it must hear so.
    if (!wasStarted) composed.reject(stopped);
    loaded.reject(stopped);
    const parts = await composed.promise.catch(() => undefined);
    try {
      await parts?.stop();
    } finally {
      repeated.stop();
      for (const session of sessions) session.close(stopped);
    }
  }

  return {
    async start(start) {
      invariant(!wasStarted, "a host starts once");
      wasStarted = true;
      try {
        const parts = await compose(start);
        composed.resolve(parts);
        load(parts).then(loaded.resolve, loaded.reject);
        return parts.services.info;
      } catch (thrown) {
        composed.reject(thrown);
        loaded.reject(thrown);
        throw thrown;
      }
    },
    ready: () => loaded.promise,
    async attach(kind, peerId, port) {
      const parts = await composed.promise;
      if (stopping.signal.aborted) throw new InferenceError("UNAVAILABLE", STOPPED);
      const session = open(kind, peerId, port, heldUntilLoaded(parts.services, whileLoading));
      sessions.add(session);
      void watchPeer(kind, peerId, session);
    },
    async connectTunnel(url) {
      const { services } = await composed.promise;
      invariant(options.openLine !== undefined, "this host has a way to connect");
      const line = await options.openLine(url);
      // The last answers still have to go through it: it ends with the connection, and until then this host counts as alive.
      createTunnelSession({ line, services, ready: () => loaded.promise, stop: end });
    },
    async log(level, message) {
      (await composed.promise).log(level, message);
    },
    async stop() {
      try {
        await end();
      } finally {
        letGo();
      }
    },
  };
}

const STOPPED = "the server is stopping";
