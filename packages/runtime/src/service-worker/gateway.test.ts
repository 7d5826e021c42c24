import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { FindHost, GatewayAnswer } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import {
  ASKING,
  bytesAnswer,
  errorOf,
  hostFor,
  origin,
  started,
  textOf,
  tick,
} from "../../test/gateway-world.ts";

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
