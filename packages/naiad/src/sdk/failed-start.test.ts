import { WIRE_VERSION } from "@naiad/runtime/contracts";
import { expect, it } from "vitest";
import { tellOfFailedStart } from "./failed-start.ts";
import type { GatewayRegistration } from "./gateway-registration.ts";

it("tells the service worker of a failed start, and again whenever it looks for the host of that base", () => {
  const told: unknown[] = [];
  const container = Object.assign(new EventTarget(), { startMessages: () => undefined });
  const worker = { postMessage: (message: unknown) => told.push(message) };
  // Only these parts are used.
  const gateway = { container, active: () => worker } as unknown as GatewayRegistration;
  const asks = (question: object): void => {
    const data = { naiad: "who-is-host", base: "/app/", kind: "gateway", ...question };
    container.dispatchEvent(Object.assign(new Event("message"), { data }));
  };

  const stop = tellOfFailedStart(gateway, "/app/", "no model 'm'");
  const failed = { naiad: "start-failed", wireVersion: WIRE_VERSION, base: "/app/", reason: "no model 'm'" };
  expect(told).toEqual([failed]);
  asks({});
  expect(told).toEqual([failed, failed]);
  asks({ base: "/" });
  asks({ kind: "client" });
  asks({ naiad: "pong" });
  stop();
  asks({});
  expect(told.length).toBe(2);
});
