import { createChannel, holdAlive } from "@naiad/link";
import type { Channel, EmptyContract, FaultHook } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { FakeClock } from "@naiad/testing";
import { createFakeClock, memoryLocks, pairedEndpoints } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type {
  FindHost,
  GatewayAnswer,
  GatewayContract,
  GatewayExchange,
  HereIsHost,
  WhoIsHost,
} from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import type { GatewayEvent, GatewayFetchEvent, GatewayMessageEvent, GatewayScope } from "./gateway-scope.ts";
import { installGateway } from "./gateway.ts";
import type { GatewayOptions } from "./gateway.ts";

const ORIGIN = "https://example.test";
/** The client id of a page that stays open. */
const ASKING = "some page";
const encode = (text: string) => new TextEncoder().encode(text);

interface Answering {
  (exchange: GatewayExchange, signal: AbortSignal): Promise<GatewayAnswer>;
}

const echo: Answering = ({ method, rawTarget }) =>
  Promise.resolve(bytesAnswer(200, `${method} ${rawTarget}`));

function bytesAnswer(status: number, text: string): GatewayAnswer {
  return {
    status,
    headers: [["content-type", "text/plain"]],
    body: { kind: "bytes", bytes: encode(text).buffer },
  };
}

/** One origin: its locks, its pages and whatever service workers come and go. */
function origin() {
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
async function hostFor(
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

async function textOf(response: Promise<Response> | undefined): Promise<string> {
  return (await response)?.text() ?? "left alone";
}

async function errorOf(response: Promise<Response> | undefined) {
  const answer = await response;
  const { error } = (await answer?.json()) as { error: string };
  return { status: answer?.status, error, marker: answer?.headers.get("x-naiad") };
}

async function tick(clock: FakeClock, ms = 0): Promise<void> {
  await clock.advance(ms * 1e6);
}

/** A `Request` reads its body in tasks of its own. */
async function started(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    await clock.settle();
  }
}

describe("installGateway: the way through", () => {
  it("asks the pages once and forwards from then on", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await hostFor(world, worker);
    const response = await worker.fetch("/v2/models/m/infer?x=1", {
      method: "POST",
      body: "hi",
      headers: { "X-Thing": "1" },
    });
    expect(await response?.text()).toBe("POST /v2/models/m/infer?x=1");
    expect(response?.headers.get("x-naiad")).toBe("1");
    expect(response?.headers.get("content-type")).toBe("text/plain");
    expect(await textOf(worker.fetch("/v2/health/live"))).toBe("GET /v2/health/live");
    expect(host.questions()).toBe(1);
    expect(host.sessions.map(({ gatewayId }) => gatewayId)).toEqual([worker.gatewayId]);
    const [first] = host.exchanges;
    expect(first?.exchange).toMatchObject({ clientId: ASKING, method: "POST" });
    expect(first?.exchange.headers).toContainEqual(["x-thing", "1"]);
    expect(new TextDecoder().decode(first?.exchange.body)).toBe("hi");
    expect(first?.exchange.bodyHash).toMatch(/^[0-9a-f]{16}$/);
    expect(world.clock.timerCount).toBe(0);
  });

  it("holds its own lock before it asks", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const held: (readonly string[])[] = [];
    world.pages.set("page", () => held.push(world.locks.heldNames()));
    const response = worker.fetch("/v2");
    await started(world.clock);
    expect(held[0]).toEqual([aliveLock(worker.gatewayId)]);
    await tick(world.clock, 5000);
    expect((await response)?.status).toBe(503);
  });

  it("shares one search among requests that come together", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await hostFor(world, worker);
    const texts = await Promise.all(["/v2/a", "/v2/b", "/v2/c"].map((path) => textOf(worker.fetch(path))));
    expect(texts).toEqual(["GET /v2/a", "GET /v2/b", "GET /v2/c"]);
    expect(host.questions()).toBe(1);
  });

  it("leaves everything else to the network", () => {
    const worker = origin().serviceWorker();
    expect(worker.fetch("/index.html")).toBeUndefined();
    expect(worker.fetch("/v20")).toBeUndefined();
  });

  it("answers metrics, unless its options or its script's address say otherwise", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    await hostFor(world, worker);
    expect(await textOf(worker.fetch("/metrics"))).toBe("GET /metrics");
    expect(world.serviceWorker({ allowMetrics: false }).fetch("/metrics")).toBeUndefined();
    const search = "?v=2&allow-metrics=false";
    expect(world.serviceWorker({}, undefined, search).fetch("/metrics")).toBeUndefined();
    expect(world.serviceWorker({ allowMetrics: true }, undefined, search).fetch("/metrics")).toBeDefined();
    await tick(world.clock, 5000);
  });

  it("has a base path", async () => {
    const world = origin();
    const worker = world.serviceWorker({ base: "/app/" });
    await hostFor(world, worker);
    expect(worker.fetch("/v2")).toBeUndefined();
    expect(await textOf(worker.fetch("/app/v2/models"))).toBe("GET /v2/models");
  });

  it.each([204, 304])("answers status %d without a body", async (status) => {
    const world = origin();
    const worker = world.serviceWorker();
    await hostFor(world, worker, "page", () => Promise.resolve(bytesAnswer(status, "")));
    const response = await worker.fetch("/v2");
    expect(response?.status).toBe(status);
    expect(response?.body).toBeNull();
  });

  it("streams a body, and ends it when the page stops reading", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const stream: GatewayAnswer = { status: 200, headers: [], body: { kind: "stream", bodyId: "7" } };
    const host = await hostFor(world, worker, "page", () => Promise.resolve(stream));
    expect(await textOf(worker.fetch("/v2/models/m/generate_stream"))).toBe("first of 7; second");

    const reader = (await worker.fetch("/v2/models/m/generate_stream"))?.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("first of 7; ");
    let isExtended = true;
    const extension = worker.extensions[1]?.then(() => (isExtended = false));
    await started(world.clock);
    expect(isExtended).toBe(true);
    await reader?.cancel();
    await started(world.clock);
    expect(host.bodies).toEqual(["ended", "ended"]);
    await Promise.all([worker.extensions[0], extension]);
    expect(worker.extensions).toHaveLength(2);
  });

  it("answers the host's own errors with Triton's status", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    await hostFor(world, worker, "page", () =>
      Promise.reject(new InferenceError("NOT_FOUND", "no such thing")),
    );
    expect(await errorOf(worker.fetch("/v2"))).toEqual({ status: 404, error: "no such thing", marker: "1" });
    const grpc = await worker.fetch("/grpc.health.v1.Health/Check");
    expect(grpc?.headers.get("grpc-message")).toBe("no%20such%20thing");
  });

  it("cancels a request whose page has gone", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await hostFor(world, worker, "page", () => new Promise(() => undefined));
    const response = worker.fetch("/v2", {}, "closed page");
    await started(world.clock);
    await tick(world.clock, 2001);
    expect(host.exchanges.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(await errorOf(response)).toMatchObject({ status: 400, error: "request was cancelled" });
  });
});

describe("installGateway: no host", () => {
  it("says so soon where no page knows Naiad", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 3000);
    const answer = await response;
    expect(answer?.status).toBe(503);
    expect(answer?.headers.get("retry-after")).toBe("1");
    expect(await errorOf(Promise.resolve(answer as Response))).toMatchObject({
      error: "no open page of this site runs Naiad: call startServer() in one and wait for it",
      marker: "1",
    });
    expect(world.clock.timerCount).toBe(0);
  });

  it("waits longer for a page that says its host is coming", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const coming = { naiad: "host-is-coming", wireVersion: WIRE_VERSION, base: "/" };
    world.pages.set("page", () => {
      worker.hear(coming);
    });
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 9000);
    const host = await hostFor(world, worker, "page");
    await tick(world.clock, 600);
    expect(await textOf(response)).toBe("GET /v2");
    expect(host.questions()).toBe(1);
  });

  it("does not wait for ever for one that is always coming", async () => {
    const world = origin();
    const worker = world.serviceWorker({ patience: { startingMs: 2000, silentMs: 1000 } });
    world.pages.set("page", () => {
      worker.hear({ naiad: "host-is-coming", wireVersion: WIRE_VERSION, base: "/" });
    });
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 2001);
    expect(await errorOf(response)).toMatchObject({
      status: 503,
      error: "the page that starts Naiad has not finished in time",
    });
  });

  it("says at once why the last start failed, unless another page has a host", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const failed = { naiad: "start-failed", wireVersion: WIRE_VERSION, base: "/", reason: "no model 'm'" };
    world.pages.set("page-1", () => {
      worker.hear(failed, { from: "page-1" });
    });
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 200);
    expect(await errorOf(response)).toMatchObject({
      status: 503,
      error: "no open page of this site runs Naiad: the last start failed: no model 'm'",
    });
    expect(world.clock.timerCount).toBe(0);

    await hostFor(world, worker, "page-2");
    expect(await textOf(worker.fetch("/v2"))).toBe("GET /v2");
  });

  it("ends the wait for a page that was starting and failed, but not for another one", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const says = (pageId: string, naiad: string): void => {
      worker.hear({ naiad, wireVersion: WIRE_VERSION, base: "/", reason: "broken" }, { from: pageId });
    };
    let first = "host-is-coming";
    world.pages.set("page-1", () => {
      says("page-1", first);
    });
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 4000);
    first = "start-failed";
    says("page-1", first);
    await tick(world.clock, 200);
    expect(await errorOf(response)).toMatchObject({
      error: expect.stringMatching(/the last start failed: broken$/),
    });

    world.pages.set("page-2", () => {
      says("page-2", "host-is-coming");
    });
    const patient = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 4000);
    const host = await hostFor(world, worker, "page-2");
    await tick(world.clock, 600);
    expect(await textOf(patient)).toBe("GET /v2");
    expect(host.questions()).toBe(1);
  });

  it("takes a host that announces itself at once", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await world.hostPage("page");
    const response = worker.fetch("/v2");
    await started(world.clock);
    host.listen((message, ports) => {
      worker.hear(message, { ports });
    });
    world.pages.get("page")?.(
      { naiad: "who-is-host", base: "/", kind: "gateway", peerId: worker.gatewayId, clientId: "" },
      [],
    );
    expect(await textOf(response)).toBe("GET /v2");
  });

  it("looks again for the next request", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const first = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 3000);
    expect((await first)?.status).toBe(503);
    await hostFor(world, worker);
    expect(await textOf(worker.fetch("/v2"))).toBe("GET /v2");
  });

  it("ignores a page that answers for a host which has died", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await hostFor(world, worker, "page-1");
    const answering = world.pages.get("page-1");
    host.die();
    if (answering !== undefined) world.pages.set("page-1", answering);
    const response = worker.fetch("/v2");
    await started(world.clock);
    world.pages.delete("page-1");
    await hostFor(world, worker, "page-2");
    await tick(world.clock, 600);
    expect(await textOf(response)).toBe("GET /v2");
  });

  it.each([
    ["its page says so", { wireVersion: 99 }],
    ["it says so itself", { portVersion: 99 }],
  ])("refuses a host of another version, when %s", async (_case, says) => {
    const world = origin();
    const worker = world.serviceWorker();
    await hostFor(world, worker, "page", echo, says);
    const { status, error } = await errorOf(worker.fetch("/v2"));
    expect(status).toBe(503);
    expect(error).toMatch(
      /speaks wire version 1 of Naiad and the page that runs the server 99: close the other tabs/,
    );
  });
});

describe("installGateway: the host dies", () => {
  const hang: Answering = () => new Promise(() => undefined);

  it("sends a pure request once more, to the next host", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const first = await hostFor(world, worker, "page-1", hang);
    const response = worker.fetch("/v2/models/m/infer", { method: "POST", body: "hi" });
    await started(world.clock);
    expect(first.exchanges).toHaveLength(1);
    first.die();
    const second = await hostFor(world, worker, "page-2");
    await tick(world.clock, 600);
    expect(await textOf(response)).toBe("POST /v2/models/m/infer");
    expect(new TextDecoder().decode(second.exchanges[0]?.exchange.body)).toBe("hi");
  });

  it("says what happened to a request that may have changed something", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const first = await hostFor(world, worker, "page-1", hang);
    const response = worker.fetch("/v2/repository/models/m/load", { method: "POST" });
    await started(world.clock);
    first.die();
    const second = await hostFor(world, worker, "page-2");
    expect(await errorOf(response)).toMatchObject({
      status: 503,
      error:
        "the page that ran the server was closed before it answered; it may or may not have done what it was asked for",
    });
    expect(second.exchanges).toEqual([]);
  });

  it("does not send anything a third time", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const first = await hostFor(world, worker, "page-1", hang);
    const response = worker.fetch("/v2");
    await started(world.clock);
    first.die();
    const second = await hostFor(world, worker, "page-2", hang);
    await tick(world.clock, 600);
    expect(second.exchanges).toHaveLength(1);
    second.die();
    expect(await errorOf(response)).toMatchObject({
      status: 503,
      error: expect.stringContaining("its successor") as unknown,
    });
  });

  it("goes over to a new host that announces itself, before the old one's lock is free", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    await hostFor(world, worker, "page-1", hang);
    const response = worker.fetch("/v2");
    await started(world.clock);
    world.pages.delete("page-1");
    await hostFor(world, worker, "page-2");
    world.pages.get("page-2")?.(
      { naiad: "who-is-host", base: "/", kind: "gateway", peerId: worker.gatewayId, clientId: "" },
      [],
    );
    expect(await textOf(response)).toBe("GET /v2");
  });

  it("breaks a stream off with an error, not with an end", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const stream: GatewayAnswer = { status: 200, headers: [], body: { kind: "stream", bodyId: "7" } };
    const host = await hostFor(world, worker, "page-1", () => Promise.resolve(stream));
    const reader = (await worker.fetch("/v2/models/m/generate_stream"))?.body?.getReader();
    host.sessions[0]?.channel.close(new InferenceError("UNAVAILABLE", "stopped"));
    await world.clock.settle();
    await expect(reader?.read()).rejects.toThrow(/stopped/);
  });
});

describe("installGateway: the service worker dies", () => {
  it("asks again after a restart, with another id and the same hash", async () => {
    const world = origin();
    const first = world.serviceWorker();
    const host = await world.hostPage("page-1", () => new Promise(() => undefined));
    let current = first;
    host.listen((message, ports) => {
      current.hear(message, { ports });
    });
    const body = "the same body";
    void first.fetch("/v2/models/m/infer", { method: "POST", body });
    await started(world.clock);
    current = world.serviceWorker();
    void current.fetch("/v2/models/m/infer", { method: "POST", body });
    await started(world.clock);
    expect(host.sessions.map(({ gatewayId }) => gatewayId)).toEqual([first.gatewayId, current.gatewayId]);
    const [before, after] = host.exchanges.map(({ exchange }) => exchange.bodyHash);
    expect(before).toBe(after);
  });
});

describe("installGateway: messages and lifecycle", () => {
  it.each([
    [{ base: "app" }, "installGateway's option 'base' must be a path from the root of the site"],
    [{ lifecycle: "later" }, "installGateway's option 'lifecycle' must be one of 'immediate', 'app'"],
    [{ patience: { silentMs: "3 s" } }, "installGateway's option 'patience' must be an object of {"],
    [{ allowMetrics: null }, "installGateway's option 'allowMetrics' must be true or false, but it is null"],
    [{ scope: "/" }, "installGateway has no option 'scope'"],
  ])("refuses %j", (options, text) => {
    expect(() => {
      origin().serviceWorker(Object.fromEntries(Object.entries(options)));
    }).toThrow(text);
  });

  it("takes over at once, or leaves that to the application", () => {
    const world = origin();
    const own = world.serviceWorker();
    own.lifecycle("install");
    own.lifecycle("activate");
    expect(own.log).toEqual(["skipWaiting", "claim"]);
    expect(world.serviceWorker({ lifecycle: "app" }).types()).toEqual(["fetch", "message"]);
  });

  it("answers a ping", () => {
    const world = origin();
    const worker = world.serviceWorker();
    const pongs: unknown[] = [];
    world.pages.set("page", (message) => pongs.push(message));
    worker.hear({ naiad: "ping" }, { from: "page" });
    const pong = { naiad: "pong", wireVersion: WIRE_VERSION, base: "/", gatewayId: worker.gatewayId };
    expect(pongs).toEqual([pong]);
  });

  it.each([[null], ["text"], [{ type: "SKIP_WAITING" }], [{ naiad: "something else" }], [[1]]])(
    "ignores %o",
    async (message) => {
      const world = origin();
      const worker = world.serviceWorker();
      worker.hear(message);
      await world.clock.settle();
      expect(world.clock.timersSet).toBe(0);
    },
  );

  it("finds the host for a page: asks the others, and hands the port on", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const host = await hostFor(world, worker, "owner");
    const heard: { readonly message: unknown; readonly ports: readonly MessagePort[] }[] = [];
    world.pages.set("asker", (message, ports) => heard.push({ message, ports }));
    const question: FindHost = { naiad: "find-host", wireVersion: WIRE_VERSION, base: "/", peerId: "p" };
    worker.hear(question, { from: "asker" });
    await world.clock.settle();
    expect(host.questions()).toBe(1);
    expect(heard).toMatchObject([
      {
        message: {
          naiad: "here-is-host",
          kind: "client",
          peerId: "p",
          clientId: "asker",
          hostId: host.hostId,
        },
      },
    ]);
    expect(heard[0]?.ports).toHaveLength(1);
  });

  it("does not mix up bases", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    const heard: unknown[] = [];
    world.pages.set("owner", (message) => heard.push(message));
    worker.hear(
      { naiad: "find-host", wireVersion: WIRE_VERSION, base: "/other/", peerId: "p" },
      { from: "owner" },
    );
    await world.clock.settle();
    expect(heard).toEqual([]);
  });

  it("can be made to fail at its fault points", async () => {
    const world = origin();
    const points: string[] = [];
    const worker = world.serviceWorker({}, (point, detail) => {
      if (point.startsWith("gateway.")) points.push(`${point} ${detail}`);
      if (point === "gateway.before-respond") throw new Error("armed");
    });
    await hostFor(world, worker);
    expect(await errorOf(worker.fetch("/v2/x"))).toMatchObject({ status: 500, error: "armed" });
    expect(points).toEqual(["gateway.before-forward /v2/x", "gateway.before-respond /v2/x"]);
  });
});
