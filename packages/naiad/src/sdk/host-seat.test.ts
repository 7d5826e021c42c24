import { whenDead } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import { electionLock } from "@naiad/runtime/contracts";
import { memoryLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { fakeOwnedHost } from "../../test/fake-owned-host.ts";
import type { GatewayRegistration } from "./gateway-registration.ts";
import type { OwnedHost } from "./host-owner.ts";
import { takeHostSeat } from "./host-seat.ts";

const NEVER = new AbortController().signal;

/** A page's seat where the service worker passes nothing on. */
function takeSeat(start: () => Promise<OwnedHost>, locks = memoryLocks()) {
  const container = Object.assign(new EventTarget(), { startMessages: () => undefined });
  const gateway: GatewayRegistration = {
    // Only messages are listened to.
    container: container as unknown as ServiceWorkerContainer,
    wasActive: true,
    active: () => undefined,
  };
  const seat = takeHostSeat({
    base: "/",
    gateway,
    locks,
    peerId: "page",
    persistStorage: false,
    startHost: start,
  });
  return { seat, locks };
}

describe("takeHostSeat", () => {
  it("runs a host as soon as every page before it has left", async () => {
    const { seat: first, locks } = takeSeat(() => Promise.resolve(fakeOwnedHost("a")));
    const { seat: second } = takeSeat(() => Promise.resolve(fakeOwnedHost("b")), locks);
    expect((await first.acquire(NEVER)).hostId).toBe("a");
    await first.leave();
    expect((await second.acquire(NEVER)).hostId).toBe("b");
    await second.leave();
  });

  it("gives its place up also where its host cannot stop", async () => {
    const host = fakeOwnedHost("a");
    host.stop = () => {
      host.die();
      return Promise.reject(new InferenceError("INTERNAL", "cannot stop"));
    };
    const { seat, locks } = takeSeat(() => Promise.resolve(host));
    await seat.acquire(NEVER);
    await expect(seat.leave()).rejects.toThrow("cannot stop");
    await whenDead(locks, electionLock("/"), AbortSignal.timeout(1_000));
  });

  it("says what it waits for", async () => {
    const { seat: first, locks } = takeSeat(() => new Promise(() => undefined));
    const { seat: second } = takeSeat(() => Promise.resolve(fakeOwnedHost("b")), locks);
    await expect.poll(() => first.waitsFor()).toBe("the host worker has not started");
    expect(second.waitsFor()).toBe(
      "another page of this site has the place of the host and does not answer: close the other tabs of this site " +
        "and reload",
    );
  });
});
