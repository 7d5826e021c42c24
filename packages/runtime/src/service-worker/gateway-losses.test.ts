import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { GatewayAnswer } from "../contracts.ts";
import type { Answering } from "../../test/gateway-world.ts";
import { errorOf, hostFor, origin, started, textOf, tick } from "../../test/gateway-world.ts";

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
