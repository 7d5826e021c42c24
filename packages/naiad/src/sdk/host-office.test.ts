import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { fakeOwnedHost } from "../../test/fake-owned-host.ts";
import { takeHostOffice } from "./host-office.ts";

describe("host office", () => {
  it("starts another host when one dies, and stops the last when it is left", async () => {
    const hosts = [fakeOwnedHost("a"), fakeOwnedHost("b")];
    let started = 0;
    const office = takeHostOffice({
      base: "/",
      start: () => Promise.resolve(hosts[started++] ?? fakeOwnedHost("c")),
    });
    const first = await office.host();
    expect(first.hostId).toBe("a");
    hosts[0]?.die();
    await expect.poll(async () => (await office.host()).hostId).toBe("b");
    await office.leave();
    await office.leave();
    expect(hosts[1]?.stops).toBe(1);
    expect(started).toBe(2);
  });

  it("gives up when the very first host does not start", async () => {
    let started = 0;
    const office = takeHostOffice({
      base: "/",
      start: () => {
        started += 1;
        return Promise.reject(new InferenceError("UNAVAILABLE", "no such script"));
      },
    });
    await expect(office.host()).rejects.toThrow("no such script");
    await office.leave();
    expect(started).toBe(1);
  });

  it("promises no host, and gives nobody a port, once it is being left", async () => {
    const host = fakeOwnedHost("a");
    let stopped: () => void = () => undefined;
    host.stop = () =>
      new Promise((resolve) => {
        stopped = resolve;
      });
    const office = takeHostOffice({ base: "/", start: () => Promise.resolve(host) });
    expect([office.isReady(), office.isComing()]).toEqual([false, true]);
    await office.host();
    expect([office.isReady(), office.isComing()]).toEqual([true, false]);
    const leaving = office.leave();
    host.die();
    await expect.poll(() => office.isReady()).toBe(false);
    expect(office.isComing()).toBe(false);
    const answers: unknown[] = [];
    await office.answer(
      { naiad: "who-is-host", wireVersion: 1, base: "/", kind: "gateway", peerId: "p", clientId: "" },
      { postMessage: (message: unknown) => answers.push(message) },
    );
    expect(answers).toEqual([]);
    stopped();
    await leaving;
  });

  it("is left also where its host cannot stop", async () => {
    const host = fakeOwnedHost("a");
    host.stop = () => {
      host.die();
      return Promise.reject(new InferenceError("INTERNAL", "cannot stop"));
    };
    let started = 0;
    const office = takeHostOffice({
      base: "/",
      start: () => {
        started += 1;
        return Promise.resolve(host);
      },
    });
    await expect(office.leave()).rejects.toThrow("cannot stop");
    await office.leave();
    expect(started).toBe(1);
  });

  it("answers a question with a port to the host that runs now", async () => {
    const office = takeHostOffice({ base: "/app/", start: () => Promise.resolve(fakeOwnedHost("a")) });
    const answers: { message: unknown; ports: number }[] = [];
    const asker = {
      postMessage: (message: unknown, transfer?: unknown) => {
        answers.push({ message, ports: Array.isArray(transfer) ? transfer.length : 0 });
      },
    };
    await office.answer(
      { naiad: "who-is-host", wireVersion: 1, base: "/app/", kind: "client", peerId: "p", clientId: "c" },
      asker,
    );
    expect(answers).toEqual([
      {
        message: {
          naiad: "here-is-host",
          wireVersion: 1,
          base: "/app/",
          kind: "client",
          peerId: "p",
          clientId: "c",
          hostId: "a",
        },
        ports: 1,
      },
    ]);
    await office.leave();
  });
});
