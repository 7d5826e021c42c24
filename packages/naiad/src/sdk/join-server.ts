import { createInferenceClient, createPortTransport } from "@naiad/client";
import type { EmptyContract } from "@naiad/link";
import { createChannel, holdAlive, whenDead } from "@naiad/link";
import type { ClientContract, ServerEvent } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { WhoIsHost } from "@naiad/runtime/contracts";
import { aliveLock } from "@naiad/runtime/contracts";
import { standForElection } from "./election.ts";
import type { GatewayRegistration } from "./gateway-registration.ts";
import { registerGateway } from "./gateway-registration.ts";
import type { HostConnection, HostLine } from "./host-connection.ts";
import { createHostConnection } from "./host-connection.ts";
import { findHost } from "./host-finder.ts";
import type { HostOffice } from "./host-office.ts";
import { takeHostOffice } from "./host-office.ts";
import { startHost } from "./host-owner.ts";
import type { NaiadServer } from "./naiad-server.ts";
import { probeGateway } from "./probe-gateway.ts";
import type { StartSettings } from "./start-options.ts";
import { differingOptions } from "./start-options.ts";

export interface JoinOptions {
  /** Ends a start that has not finished yet. */
  readonly signal?: AbortSignal;
  /** Hears progress from the first download on. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Called once the server has been left, by `stop` or after a failed start. */
  readonly onStopped: () => void;
}

/** The composition root of a page's part of the server. */
export async function joinServer(settings: StartSettings, options: JoinOptions): Promise<NaiadServer> {
  const { locks } = navigator;
  const { base } = settings;
  const stopped = new AbortController();
  const signal =
    options.signal === undefined ? stopped.signal : AbortSignal.any([options.signal, stopped.signal]);
  const peerId = crypto.randomUUID();
  const letGo = await holdAlive(locks, aliveLock(peerId));

  const elected = new AbortController();
  let office: HostOffice | undefined;
  let election: Promise<void> | undefined;

  const takeOffice = (): void => {
    office = takeHostOffice({ base, start: () => startHost(settings, `naiad:${base}`, locks) });
    elected.abort();
  };

  const hostLine = (hostId: string, port: MessagePort): HostLine => {
    const nothing = { calls: {}, streams: {}, notes: {} };
    const channel = createChannel<ClientContract, EmptyContract>(port, nothing, { peer: "the server" });
    const open = new AbortController();
    void channel.closed.then(() => open.abort());
    whenDead(locks, aliveLock(hostId), open.signal).then(
      () => channel.close(new InferenceError("UNAVAILABLE", "the page that ran the server is gone")),
      () => undefined,
    );
    return { hostId, channel, transport: createPortTransport(channel) };
  };

  const acquire = async (gateway: GatewayRegistration | undefined, until: AbortSignal): Promise<HostLine> => {
    for (;;) {
      until.throwIfAborted();
      if (office !== undefined) {
        const host = await office.host();
        return hostLine(host.hostId, await host.openPort("client", peerId));
      }
      if (gateway === undefined)
        throw new InferenceError("INTERNAL", "a page without a service worker must run its own host");
      const found = await findHost(gateway, base, peerId, AbortSignal.any([until, elected.signal]));
      if (found !== undefined) return hostLine(found.hostId, found.port);
    }
  };

  const answerQuestions = (gateway: GatewayRegistration): void => {
    const listen = (event: MessageEvent<unknown>): void => {
      const { source } = event;
      if (office === undefined || !isQuestion(event.data, base) || !(source instanceof ServiceWorker)) return;
      // A host that cannot be had is told by silence: the asker asks again.
      office.answer(event.data, source).catch(() => undefined);
    };
    gateway.container.addEventListener("message", listen);
    stopped.signal.addEventListener("abort", () => gateway.container.removeEventListener("message", listen), {
      once: true,
    });
    gateway.container.startMessages();
  };

  let connection: HostConnection | undefined;
  let leaving: Promise<void> | undefined;
  const leave = async (reason: InferenceError): Promise<void> => {
    connection?.close(reason);
    await office?.leave().catch(() => undefined);
    stopped.abort(reason);
    await election?.catch(() => undefined);
    letGo();
    options.onStopped();
  };

  try {
    const gateway = await gatewayFor(settings, signal);
    if (gateway === undefined) {
      takeOffice();
    } else {
      answerQuestions(gateway);
      election = standForElection(locks, base, { signal: stopped.signal, onElected: takeOffice });
      election.catch((error: unknown) => connection?.close(InferenceError.from(error)));
    }

    const line = createHostConnection((until) => acquire(gateway, AbortSignal.any([until, signal])));
    connection = line;
    const info = await line.call("hostInfo", {}, { signal });
    const differences = differingOptions(settings.server, info.options);
    if (differences.length > 0) throw otherOptions(base, differences);
    if (options.onEvent !== undefined) void pump(events(line, signal), options.onEvent);

    if (office !== undefined) await (await (office as HostOffice).host()).ready;
    await line.call("serverLive", {}, { signal });
    const fetchReachesServer = gateway !== undefined && (await probeGateway(gateway.container, base, signal));

    return {
      client: createInferenceClient(line),
      mode: gateway === undefined ? "direct" : "service-worker",
      fetchReachesServer,
      info: () => line.call("hostInfo", {}),
      instances: () => line.call("instances", {}),
      events: (eventOptions = {}) =>
        events(
          line,
          eventOptions.signal === undefined
            ? stopped.signal
            : AbortSignal.any([eventOptions.signal, stopped.signal]),
        ),
      stop: () => (leaving ??= leave(new InferenceError("UNAVAILABLE", "the server was stopped"))),
    };
  } catch (error) {
    const reason = InferenceError.from(error);
    await leave(reason);
    throw reason;
  }
}

/** What a start with other options than the running server's is refused with. */
export function otherOptions(base: string, names: readonly string[]): InferenceError {
  const message = `a server with other options runs at '${base}' already; it differs in ${names.join(", ")}`;
  return new InferenceError("ALREADY_EXISTS", message);
}

async function gatewayFor(
  settings: StartSettings,
  signal: AbortSignal,
): Promise<GatewayRegistration | undefined> {
  if (settings.mode === "direct") return undefined;
  // Private windows and insecure origins have no service workers at all.
  const container = "serviceWorker" in navigator ? navigator.serviceWorker : undefined;
  if (container !== undefined)
    return await registerGateway(container, settings.serviceWorker, settings.base, signal);
  if (settings.mode === "auto") return undefined;
  throw new InferenceError(
    "UNSUPPORTED",
    "this page has no service workers: it needs a secure context (https or localhost)",
  );
}

/** Events of whichever host serves; goes on with the next one after a loss. */
async function* events(
  connection: HostConnection,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent, void, undefined> {
  while (!signal.aborted) {
    try {
      const { channel } = await connection.line(signal);
      yield* channel.stream("events", {}, { signal });
    } catch (error) {
      if (signal.aborted) return;
      if (InferenceError.from(error).code !== "UNAVAILABLE") throw error;
    }
  }
}

async function pump(source: AsyncIterable<ServerEvent>, sink: (event: ServerEvent) => void): Promise<void> {
  try {
    for await (const event of source) sink(event);
  } catch {
    // The start itself reports why the server cannot be reached.
  }
}

function isQuestion(data: unknown, base: string): data is WhoIsHost {
  if (typeof data !== "object" || data === null) return false;
  const message = data as Partial<WhoIsHost>;
  return message.naiad === "who-is-host" && message.base === base;
}
