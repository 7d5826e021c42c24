import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestListener } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { metricsSource } from "./metrics-source.ts";

const closes: (() => void)[] = [];

afterEach(() => {
  for (const close of closes.splice(0)) close();
});

async function pageOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  closes.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

const NEVER = new AbortController().signal;

describe("the page of metrics", () => {
  it("is read whole", async () => {
    const url = await pageOf((_request, response) => response.end("up 1\n"));
    await expect(metricsSource({ url, intervalMs: 1 }).read(NEVER)).resolves.toBe("up 1\n");
  });

  it("that never comes is given up, with the reason", async () => {
    const url = await pageOf(() => undefined);
    await expect(metricsSource({ url, intervalMs: 1, limitMs: 50 }).read(NEVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `no metrics at ${url}: no answer within 0.05 seconds`,
    });
  });

  it("that stops in the middle is given up too", async () => {
    const url = await pageOf((_request, response) => response.write("up"));
    await expect(metricsSource({ url, intervalMs: 1, limitMs: 50 }).read(NEVER)).rejects.toThrow(
      "no answer within 0.05 seconds",
    );
  });

  it("with another status is none", async () => {
    const url = await pageOf((_request, response) => response.writeHead(404).end());
    await expect(metricsSource({ url, intervalMs: 1 }).read(NEVER)).rejects.toThrow("HTTP status 404");
  });

  it("is left when its reader leaves", async () => {
    const url = await pageOf(() => undefined);
    const leaving = new AbortController();
    const reading = metricsSource({ url, intervalMs: 1 }).read(leaving.signal);
    leaving.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});
