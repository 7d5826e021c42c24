import { expect, it } from "vitest";
import { probeGateway } from "./probe-gateway.ts";

const UNCONTROLLED = { controller: null };
const { signal } = new AbortController();

it("says at once after a hard reload that fetch does not reach the server", async () => {
  const startedAt = performance.now();
  const gateway = { container: UNCONTROLLED, wasActive: true };
  expect(await probeGateway(gateway, "/", { isReload: true, signal })).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(1_500);
});

it.each([
  ["a new service worker", { wasActive: false, isReload: true }],
  ["the page of another tab's new service worker", { wasActive: true, isReload: false }],
])("gives %s the time to take control", async (_name, { wasActive, isReload }) => {
  const leaving = new AbortController();
  const probed = probeGateway({ container: UNCONTROLLED, wasActive }, "/", {
    isReload,
    signal: leaving.signal,
  });
  const waited = new Promise((resolve) => {
    setTimeout(resolve, 400, "waiting");
  });
  expect(await Promise.race([probed, waited])).toBe("waiting");
  leaving.abort();
  expect(await probed).toBe(false);
});
