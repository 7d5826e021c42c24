import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { takeHostOffice } from "./host-office.ts";
import type { OwnedHost } from "./host-owner.ts";

function fakeHost(hostId: string): OwnedHost & { die(): void; stops: number } {
  const gone = new AbortController();
  const host = {
    hostId,
    info: {} as OwnedHost["info"],
    ready: Promise.resolve(),
    lost: gone.signal,
    stops: 0,
    die: () => gone.abort(new InferenceError("UNAVAILABLE", "the host worker died")),
    log: () => Promise.resolve(),
    openPort: () => Promise.resolve(new MessageChannel().port2),
    connectTunnel: () => Promise.reject(new Error("no tunnel in this test")),
    stop: () => {
      host.stops += 1;
      host.die();
      return Promise.resolve();
    },
  };
  return host;
}

describe("host office", () => {
  it("starts another host when one dies, and stops the last when it is left", async () => {
    const hosts = [fakeHost("a"), fakeHost("b")];
    let started = 0;
    const office = takeHostOffice({
      base: "/",
      start: () => Promise.resolve(hosts[started++] ?? fakeHost("c")),
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

  it("answers a question with a port to the host that runs now", async () => {
    const office = takeHostOffice({ base: "/app/", start: () => Promise.resolve(fakeHost("a")) });
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
