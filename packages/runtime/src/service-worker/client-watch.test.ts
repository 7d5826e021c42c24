import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { watchClient } from "./client-watch.ts";
import type { GatewayClient } from "./gateway-scope.ts";

const PAGE: GatewayClient = { id: "c", postMessage: () => undefined };

function setUp(clientId = "c", request = new AbortController()) {
  const clock = createFakeClock();
  const page: { present: boolean; asked: number } = { present: true, asked: 0 };
  const get = (): Promise<GatewayClient | undefined> => {
    page.asked += 1;
    return Promise.resolve(page.present ? PAGE : undefined);
  };
  return { clock, page, request, watch: watchClient({ get }, clientId, clock, request.signal) };
}

describe("watchClient", () => {
  it("fires when the page has gone", async () => {
    const { clock, page, watch } = setUp();
    await clock.advance(5e9);
    expect(watch.signal.aborted).toBe(false);
    page.present = false;
    await clock.advance(2e9);
    expect(watch.signal.aborted).toBe(true);
    expect(clock.timerCount).toBe(0);
  });

  it("fires when the request itself is aborted, where the browser tells", () => {
    const { watch, request, clock } = setUp();
    request.abort();
    expect(watch.signal.aborted).toBe(true);
    expect(clock.timerCount).toBe(0);
    const aborted = new AbortController();
    aborted.abort();
    expect(setUp("c", aborted).watch.signal.aborted).toBe(true);
  });

  it("asks for nothing once stopped, nor for a navigation", async () => {
    const { clock, page, watch } = setUp();
    watch.stop();
    const navigation = setUp("");
    await clock.advance(10e9);
    await navigation.clock.advance(10e9);
    expect([page.asked, navigation.page.asked]).toEqual([0, 0]);
  });
});
