import type { FindHost, HereIsHost } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import { describe, expect, it } from "vitest";
import type { GatewayRegistration } from "./gateway-registration.ts";
import { findHost } from "./host-finder.ts";

const NEVER = new AbortController().signal;

/** A service worker that has `answer` sent to the page that asks. */
function gatewayWith(answer: (question: FindHost) => Partial<HereIsHost>): {
  readonly gateway: GatewayRegistration;
  readonly hostSide: MessagePort;
} {
  const { port1, port2 } = new MessageChannel();
  const container = Object.assign(new EventTarget(), { startMessages: () => undefined });
  const worker = {
    postMessage(question: FindHost) {
      const data = {
        naiad: "here-is-host",
        wireVersion: WIRE_VERSION,
        base: question.base,
        kind: "client",
        peerId: question.peerId,
        clientId: "c",
        hostId: "h",
        ...answer(question),
      };
      container.dispatchEvent(Object.assign(new Event("message"), { data, ports: [port2] }));
    },
  };
  return {
    hostSide: port1,
    // Only these parts are used.
    gateway: { container, active: () => worker } as unknown as GatewayRegistration,
  };
}

describe("findHost", () => {
  it("gives the port of the page that runs the host", async () => {
    const { gateway, hostSide } = gatewayWith(() => ({}));
    const found = await findHost(gateway, "/", "me", NEVER);
    expect(found?.hostId).toBe("h");
    const arrived = new Promise((resolve) => {
      hostSide.onmessage = ({ data }) => resolve(data);
    });
    found?.port.postMessage("hello");
    expect(await arrived).toBe("hello");
    hostSide.close();
  });

  it("refuses a host of another wire version and names both", async () => {
    const { gateway, hostSide } = gatewayWith(() => ({ wireVersion: 99 }));
    await expect(findHost(gateway, "/", "me", NEVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        `the page that runs the server speaks wire version 99 of Naiad and this page ${WIRE_VERSION}: ` +
        "close the other tabs of this site and reload",
    });
    hostSide.close();
  });

  it.each([
    ["base", { base: "/other/" }],
    ["page", { peerId: "you" }],
    ["kind of asker", { kind: "gateway" }],
  ] as const)("hears nothing that is meant for another %s", async (_what, answer) => {
    const { gateway, hostSide } = gatewayWith(() => answer);
    const giveUp = new AbortController();
    const found = findHost(gateway, "/", "me", giveUp.signal);
    giveUp.abort();
    expect(await found).toBeUndefined();
    hostSide.close();
  });
});
