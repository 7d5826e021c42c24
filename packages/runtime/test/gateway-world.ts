import { createChannel, holdAlive } from "@naiad/link";
import type { Channel, EmptyContract, FaultHook } from "@naiad/link";
import type { FakeClock } from "@naiad/testing";
import { createFakeClock, memoryLocks, pairedEndpoints } from "@naiad/testing";
import type {
  GatewayAnswer,
  GatewayContract,
  GatewayExchange,
  HereIsHost,
  WhoIsHost,
} from "../src/contracts.ts";
import { aliveLock, WIRE_VERSION } from "../src/contracts.ts";
import type {
  GatewayEvent,
  GatewayFetchEvent,
  GatewayMessageEvent,
  GatewayScope,
} from "../src/service-worker/gateway-scope.ts";
import { installGateway } from "../src/service-worker/gateway.ts";
import type { GatewayOptions } from "../src/service-worker/gateway.ts";

const ORIGIN = "https://example.test";
/** The client id of a page that stays open. */
export const ASKING = "some page";
const encode = (text: string) => new TextEncoder().encode(text);

export interface Answering {
  (exchange: GatewayExchange, signal: AbortSignal): Promise<GatewayAnswer>;
}

export const echo: Answering = ({ method, rawTarget }) =>
  Promise.resolve(bytesAnswer(200, `${method} ${rawTarget}`));

export function bytesAnswer(status: number, text: string): GatewayAnswer {
  return {
    status,
    headers: [["content-type", "text/plain"]],
    body: { kind: "bytes", bytes: encode(text).buffer },
  };
}

/** One origin: its locks, its pages and whatever service workers come and go. */
export function origin() {
  const clock = createFakeClock();
  const locks = memoryLocks();
  const pages = new Map<string, (message: unknown, ports: readonly MessagePort[]) => void>();
  let gateways = 0;

  /** The first page that answers for a host; what it says of its wire version may be a lie. */
  async function hostPage(
    pageId: string,
    answering: Answering = echo,
    says: { readonly wireVersion?: number; readonly portVersion?: number } = {},
  ) {
    const hostId = `host of ${pageId}`;
    const letGo = await holdAlive(locks, aliveLock(hostId));
    const exchanges: { readonly exchange: GatewayExchange; readonly signal: AbortSignal }[] = [];
    const sessions: { readonly gatewayId: string; readonly channel: Channel<EmptyContract> }[] = [];
    const bodies: string[] = [];
    let questions = 0;

    function port(gatewayId: string): MessagePort {
      const { left, right } = pairedEndpoints();
      const channel = createChannel<EmptyContract, GatewayContract>(
        left,
        {
          calls: {
            exchange: async (exchange, { signal }) => {
              exchanges.push({ exchange, signal });
              return { value: await answering(exchange, signal) };
            },
            hostInfo: () =>
              Promise.resolve({
                // Of the information only these are looked at.
                value: { hostId, wireVersion: says.portVersion ?? WIRE_VERSION } as never,
              }),
          },
          streams: {
            body: async function* ({ bodyId }) {
              try {
                await Promise.resolve();
                yield { value: encode(`first of ${bodyId}; `) };
                yield { value: encode("second") };
              } finally {
                bodies.push("ended");
              }
            },
          },
          notes: {},
        },
        { peer: gatewayId },
      );
      sessions.push({ gatewayId, channel });
      // A gateway uses no more of a port than an endpoint has.
      return right as unknown as MessagePort;
    }

    const answerTo = (question: WhoIsHost): HereIsHost => ({
      naiad: "here-is-host",
      wireVersion: says.wireVersion ?? WIRE_VERSION,
      base: question.base,
      kind: question.kind,
      peerId: question.peerId,
      clientId: question.clientId,
      hostId,
    });
    const page = {
      hostId,
      exchanges,
      sessions,
      bodies,
      questions: () => questions,
      die() {
        pages.delete(pageId);
        letGo();
      },
      /** As the page's own code hears the question. */
      listen(reply: (message: HereIsHost, ports: readonly MessagePort[]) => void) {
        pages.set(pageId, (message) => {
          questions += 1;
          const question = message as WhoIsHost;
          reply(answerTo(question), [port(question.peerId)]);
        });
      },
    };
    return page;
  }

  function serviceWorker(options: GatewayOptions = {}, fault?: FaultHook, search = "") {
    const listeners = new Map<string, (event: never) => void>();
    const log: string[] = [];
    const extensions: Promise<unknown>[] = [];
    const gatewayId = `gateway-${(gateways += 1)}`;
    const note = (what: string): Promise<void> => {
      log.push(what);
      return Promise.resolve();
    };
    const scope: GatewayScope = {
      location: { origin: ORIGIN, search },
      registration: { scope: `${ORIGIN}/` },
      skipWaiting: () => note("skipWaiting"),
      clients: {
        claim: () => note("claim"),
        get: (id) => Promise.resolve(id === ASKING ? { id, postMessage: () => undefined } : clientOf(id)),
        matchAll: () => Promise.resolve([...pages.keys()].flatMap((id) => clientOf(id) ?? [])),
      },
      addEventListener: (type: string, listener: (event: never) => void) =>
        void listeners.set(type, listener),
    };
    function clientOf(id: string) {
      const hear = pages.get(id);
      return (
        hear && {
          id,
          postMessage: (message: unknown, ports: Transferable[]) => hear(message, ports as MessagePort[]),
        }
      );
    }
    const emit = (type: string, event: object): void => {
      listeners.get(type)?.(event as never);
    };
    installGateway(scope, { platform: { clock, locks, gatewayId, ...(fault && { fault }) }, ...options });

    return {
      gatewayId,
      log,
      types: () => [...listeners.keys()],
      /** What fetch events want to be waited for. */
      extensions,
      lifecycle(type: "install" | "activate") {
        const event: GatewayEvent = { waitUntil: () => undefined };
        emit(type, event);
      },
      /** `undefined` where the request is left to the network. */
      fetch(path: string, init: RequestInit = {}, clientId = ASKING): Promise<Response> | undefined {
        let response: Promise<Response> | undefined;
        const event: GatewayFetchEvent = {
          request: new Request(ORIGIN + path, init),
          clientId,
          respondWith: (given) => {
            response = given;
          },
          waitUntil: (work) => {
            extensions.push(work);
          },
        };
        emit("fetch", event);
        return response;
      },
      hear(data: unknown, more: { readonly ports?: readonly MessagePort[]; readonly from?: string } = {}) {
        const source = more.from === undefined ? null : clientOf(more.from);
        const event: GatewayMessageEvent = {
          data,
          ports: more.ports ?? [],
          source,
          waitUntil: () => undefined,
        };
        emit("message", event);
      },
    };
  }
  return { clock, locks, pages, hostPage, serviceWorker };
}

type World = ReturnType<typeof origin>;
type Worker = ReturnType<World["serviceWorker"]>;

/** A host whose page answers this service worker. */
export async function hostFor(
  world: World,
  worker: Worker,
  pageId = "page-1",
  ...rest: [Answering?, { wireVersion?: number; portVersion?: number }?]
) {
  const host = await world.hostPage(pageId, ...rest);
  host.listen((message, ports) => {
    worker.hear(message, { ports });
  });
  return host;
}

export async function textOf(response: Promise<Response> | undefined): Promise<string> {
  return (await response)?.text() ?? "left alone";
}

export async function errorOf(response: Promise<Response> | undefined) {
  const answer = await response;
  const { error } = (await answer?.json()) as { error: string };
  return { status: answer?.status, error, marker: answer?.headers.get("x-naiad") };
}

export async function tick(clock: FakeClock, ms = 0): Promise<void> {
  await clock.advance(ms * 1e6);
}

/** A `Request` reads its body in tasks of its own. */
export async function started(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    await clock.settle();
  }
}
