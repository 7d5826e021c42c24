import { createInferenceClient } from "@naiad/client";
import { holdAlive } from "@naiad/link";
import type { ClientContract, ServerEvent } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { aliveLock } from "@naiad/runtime/contracts";
import { browserSpawner, platformLocks, randomId } from "@naiad/runtime/platform";
import { differingOptions } from "./differing-options.ts";
import type { GatewayRegistration } from "./gateway-registration.ts";
import { registerGateway } from "./gateway-registration.ts";
import type { HostConnection } from "./host-connection.ts";
import { createHostConnection } from "./host-connection.ts";
import { startHost } from "./host-owner.ts";
import type { HostSeat } from "./host-seat.ts";
import { takeHostSeat } from "./host-seat.ts";
import type { NaiadServer } from "./naiad-server.ts";
import { probeGateway } from "./probe-gateway.ts";
import type { StartSettings } from "./start-settings.ts";
import { unlessAborted } from "./unless-aborted.ts";
import { withinPatience } from "./within-patience.ts";

/** How long a start waits for a host: its own and that of a page before it may take 30 s each. */
const HOST_MS = 90_000;

export interface JoinOptions {
  /** Ends a start that has not finished yet. */
  readonly signal?: AbortSignal;
  /** Hears progress from the first download on. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Called once the server has been left, by `stop` or after a failed start. */
  readonly onStopped: () => void;
  /** Called after a failed start, before it rejects, where there is a service worker to tell. */
  readonly onFailed: (gateway: GatewayRegistration, reason: InferenceError) => void;
}

/** The composition root of a page's part of the server. */
export async function joinServer(settings: StartSettings, options: JoinOptions): Promise<NaiadServer> {
  const { base } = settings;
  const locks = platformLocks(navigator);
  const stopped = new AbortController();
  const starting = withSignal(stopped.signal, options.signal);
  const peerId = randomId();
  const letGo = await holdAlive(locks, aliveLock(peerId));

  let gateway: GatewayRegistration | undefined;
  let seat: HostSeat | undefined;
  let connection: HostConnection | undefined;
  const leave = async (reason: InferenceError): Promise<void> => {
    stopped.abort(reason);
    await seat?.leave().catch(() => undefined);
    connection?.close(reason);
    letGo();
    options.onStopped();
  };

  try {
    const found = (gateway = await gatewayFor(settings, starting));
    const filesUrl = found && new URL(`${base}v2-files/`, location.origin).href;
    const taken = (seat = takeHostSeat({
      base,
      gateway: found,
      locks,
      peerId,
      persistStorage: settings.persistStorage,
      startHost: (successorOf) =>
        startHost({ settings, locks, spawner: browserSpawner, filesUrl, successorOf }),
    }));
    const line = (connection = createHostConnection((until) => taken.acquire(until)));

    const { options: running } = await withinPatience((signal) => line.call("hostInfo", {}, { signal }), {
      signal: starting,
      limitMs: HOST_MS,
      refusal: () => `the server did not answer within ${HOST_MS / 1000} s: ${taken.waitsFor()}`,
    });
    const differences = differingOptions(settings.server, running);
    if (differences.length > 0) throw otherOptions(base, differences);
    if (options.onEvent !== undefined)
      void pump(fromEachHost("events", line, stopped.signal), options.onEvent);
    await unlessAborted(taken.modelsLoaded(), starting);
    await line.call("serverLive", {}, { signal: starting });
    const fetchReachesServer =
      found !== undefined && (await probeGateway(found, base, { isReload: isReload(), signal: starting }));

    let leaving: Promise<void> | undefined;
    return {
      client: createInferenceClient(line),
      mode: found === undefined ? "direct" : "service-worker",
      fetchReachesServer,
      info: () => line.call("hostInfo", {}),
      instances: () => line.call("instances", {}),
      events: ({ signal } = {}) => fromEachHost("events", line, withSignal(stopped.signal, signal)),
      traces: ({ signal } = {}) => fromEachHost("traces", line, withSignal(stopped.signal, signal)),
      stop: () => (leaving ??= leave(new InferenceError("UNAVAILABLE", "the server was stopped"))),
    };
  } catch (error) {
    const reason = InferenceError.from(error);
    await leave(reason);
    if (gateway !== undefined) options.onFailed(gateway, reason);
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
  const message = "this page has no service workers: they need a secure context (https or localhost)";
  throw new InferenceError("UNSUPPORTED", message);
}

function isReload(): boolean {
  return performance
    .getEntriesByType("navigation")
    .some((entry) => entry instanceof PerformanceNavigationTiming && entry.type === "reload");
}

/** What whichever host serves has to tell; goes on with the next one after a loss, until the signal fires. */
async function* fromEachHost<Name extends "events" | "traces">(
  name: Name,
  connection: HostConnection,
  signal: AbortSignal,
): AsyncGenerator<ClientContract["streams"][Name]["item"], void, undefined> {
  for (;;) {
    try {
      const { channel } = await connection.line(signal);
      yield* channel.stream(name, {}, { signal });
      // A host that has told its last is about to go.
      await unlessAborted(channel.closed, signal);
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

function withSignal(own: AbortSignal, given: AbortSignal | undefined): AbortSignal {
  return given === undefined ? own : AbortSignal.any([own, given]);
}
