import { describe, expect, it } from "vitest";
import { WIRE_VERSION } from "../contracts.ts";
import { echo, errorOf, hostFor, origin, started, textOf, tick } from "../../test/gateway-world.ts";

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

  it("does not speak of a page that has stopped its server meanwhile", async () => {
    const world = origin();
    const worker = world.serviceWorker();
    let isStarting = true;
    world.pages.set("page", () => {
      if (isStarting) worker.hear({ naiad: "host-is-coming", wireVersion: WIRE_VERSION, base: "/" });
    });
    const response = worker.fetch("/v2");
    await started(world.clock);
    await tick(world.clock, 1000);
    isStarting = false;
    await tick(world.clock, 4000);
    expect(await errorOf(response)).toMatchObject({
      status: 503,
      error: "no open page of this site runs Naiad: call startServer() in one and wait for it",
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
