import type { Clock } from "@naiad/core";
import type { FaultHook, LockManagerLike } from "@naiad/link";
import { holdAlive, whenDead } from "@naiad/link";
import { BASE, BOOLEAN, InferenceError, checkOptionKinds, integer, oneOf, record } from "@naiad/protocol";
import type { OptionKind } from "@naiad/protocol";
import type { FindHost, HereIsHost, Pong, WhoIsHost } from "../contracts.ts";
import { aliveLock, WIRE_VERSION, WITHOUT_METRICS } from "../contracts.ts";
import { createBrowserClock } from "../host/browser-clock.ts";
import { platformLocks } from "../host/platform-locks.ts";
import { randomId } from "../random-id.ts";
import { bodyHash } from "./body-hash.ts";
import { watchClient } from "./client-watch.ts";
import { forward } from "./forward.ts";
import type { GatewayClient, GatewayFetchEvent, GatewayMessageEvent, GatewayScope } from "./gateway-scope.ts";
import { createHostLink } from "./host-link.ts";
import type { HostLink } from "./host-link.ts";
import type { SearchPatience } from "./host-search.ts";
import { DEFAULT_PATIENCE } from "./host-search.ts";
import { readPageMessage } from "./messages.ts";
import type { PageMessage } from "./messages.ts";
import { errorResponse, responseOf } from "./responses.ts";
import { shouldIntercept } from "./should-intercept.ts";

export interface GatewayOptions {
  /** Path under which /v2 appears, with slashes at both ends. Default: the scope of the service worker. */
  readonly base?: string;
  /**
   * Whether `<base>metrics` is answered too. Default: true, unless the script's address says `?allow-metrics=false`, as
   * that of a page with `allowMetrics: false` does.
   */
  readonly allowMetrics?: boolean;
  /**
   * `immediate` (default): a new script takes over as soon as the browser lets it, which is when the old one has no
   * request pending, and controls every page at once. `app`: install and activate are the application's own business.
   */
  readonly lifecycle?: "immediate" | "app";
  /** How long requests wait for a host. */
  readonly patience?: Partial<SearchPatience>;
  /** What the gateway runs on; only tests give their own. */
  readonly platform?: GatewayPlatform;
}

export interface GatewayPlatform {
  readonly clock: Clock;
  readonly locks: LockManagerLike;
  readonly gatewayId: string;
  readonly fault?: FaultHook;
}

const MS = integer(0);

const OPTIONS: { readonly [Name in keyof Required<GatewayOptions>]: OptionKind } = {
  base: BASE,
  allowMetrics: BOOLEAN,
  lifecycle: oneOf("immediate", "app"),
  patience: record({ startingMs: MS, silentMs: MS, failedMs: MS, askEveryMs: MS }),
  platform: { text: "the platform of a test", holds: () => true },
};

/**
 * Makes a service worker answer `<base>v2/...`, `<base>metrics` and gRPC-Web from the host of this origin; all other requests
 * are left alone. To be called once, while the service worker's script runs for the first time: listeners added later miss events.
 * Throws a `TypeError` that names an option that makes no sense.
 */
export function installGateway(scope: GatewayScope, options: GatewayOptions = {}): void {
  checkOptionKinds(options, { subject: "installGateway", kinds: OPTIONS });
  const platform = options.platform ?? browserPlatform();
  const { clock, locks, gatewayId, fault } = platform;
  const base = options.base ?? new URL(scope.registration.scope).pathname;
  const { origin, search } = scope.location;
  const allowMetrics = options.allowMetrics ?? !search.includes(WITHOUT_METRICS);
  const place = { origin, base, metrics: allowMetrics ? "intercepted" : "left alone" } as const;
  const link = createHostLink({
    base,
    gatewayId,
    clock,
    patience: { ...DEFAULT_PATIENCE, ...options.patience },
    askPages: (question) => postToPages(scope, question),
    holdAlive: () => holdAlive(locks, aliveLock(gatewayId)),
    whenDead: (hostId, signal) => whenDead(locks, aliveLock(hostId), signal),
    ...(fault && { fault }),
  });

  scope.addEventListener("fetch", (event) => {
    const interception = shouldIntercept(event.request, place);
    if (interception.kind === "forward") {
      event.respondWith(answer(event, interception.rawTarget, scope, link, platform));
    }
  });

  scope.addEventListener("message", (event) => {
    const message = readPageMessage(event.data);
    if (message !== undefined) hear(message, event);
  });

  if (options.lifecycle !== "app") {
    scope.addEventListener("install", (event) => {
      event.waitUntil(scope.skipWaiting());
    });
    scope.addEventListener("activate", (event) => {
      event.waitUntil(scope.clients.claim());
    });
  }

  function hear(message: PageMessage, event: GatewayMessageEvent): void {
    const [port] = event.ports;
    if (message.naiad === "ping") {
      const pong: Pong = { naiad: "pong", wireVersion: WIRE_VERSION, base, gatewayId };
      const target = port ?? (isClient(event.source) ? event.source : undefined);
      target?.postMessage(pong, []);
      return;
    }
    if (message.base !== base) {
      port?.close();
      return;
    }
    switch (message.naiad) {
      case "host-is-coming":
        link.hostIsComing(pageOf(event));
        return;
      case "start-failed":
        link.startFailed(pageOf(event), message.reason);
        return;
      case "find-host":
        if (isClient(event.source))
          event.waitUntil(postToPages(scope, questionFor(message, event.source.id)));
        return;
      case "here-is-host":
        if (port === undefined) return;
        if (message.kind === "gateway") link.hereIsHost(message, port);
        else event.waitUntil(passOn(scope, message, port));
        return;
    }
  }
}

function browserPlatform(): GatewayPlatform {
  return { clock: createBrowserClock(), locks: platformLocks(navigator), gatewayId: randomId() };
}

/** Never rejects: every failure is an answer too. */
async function answer(
  event: GatewayFetchEvent,
  rawTarget: string,
  scope: GatewayScope,
  link: HostLink,
  { clock, fault }: GatewayPlatform,
): Promise<Response> {
  const { request, clientId } = event;
  const gone = watchClient(scope.clients, clientId, clock, request.signal);
  try {
    const body = await request.arrayBuffer();
    const exchange = {
      method: request.method,
      rawTarget,
      headers: [...request.headers],
      body,
      clientId,
      bodyHash: bodyHash(body),
    };
    const { answer: found, connection } = await forward(exchange, link, gone.signal, fault);
    await fault?.("gateway.before-respond", rawTarget);
    // A browser may end a service worker that is idle but for the body of an answer.
    return responseOf(found, connection.channel, (streamed) => {
      event.waitUntil(streamed);
    });
  } catch (thrown) {
    return errorResponse(InferenceError.from(thrown), rawTarget);
  } finally {
    gone.stop();
  }
}

async function postToPages(scope: GatewayScope, question: WhoIsHost): Promise<void> {
  const pages = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  for (const page of pages) if (page.id !== question.clientId) page.postMessage(question, []);
}

function questionFor({ wireVersion, base, peerId }: FindHost, clientId: string): WhoIsHost {
  return { naiad: "who-is-host", wireVersion, base, kind: "client", peerId, clientId };
}

/** Hands a port for another page on to that page. */
async function passOn(scope: GatewayScope, message: HereIsHost, port: MessagePort): Promise<void> {
  const page = await scope.clients.get(message.clientId);
  if (page === undefined) port.close();
  else page.postMessage(message, [port]);
}

/** Of the page that sent a message. */
function pageOf({ source }: GatewayMessageEvent): string {
  return isClient(source) ? source.id : "";
}

function isClient(source: unknown): source is GatewayClient {
  return typeof source === "object" && source !== null && "id" in source && "postMessage" in source;
}
