import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NaiadServer } from "naiad";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { sendScript } from "./altered-host.ts";
import { fixtureFile } from "./own-models.ts";
import { BUILT, OTHER_WIRE_VERSION } from "./origin.ts";
import { inferJson, parsed, range, send, SIMPLE_INPUTS } from "./requests.ts";

/** Shift-reload: no service worker controls the page that comes, though one is active. */
async function hardReload(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const loaded = page.waitForEvent("load");
  await session.send("Page.reload", { ignoreCache: true });
  await loaded;
  await page.waitForFunction(() => "test" in window);
  await session.detach();
}

/** The sum that the model `simple` gives over the port. */
async function sumOverPort(page: Page): Promise<readonly number[]> {
  return await page.evaluate(async () => {
    const input = { data: new Int32Array(16).fill(21), shape: [1, 16] };
    const result = await window.test.server.client.infer({
      modelName: "simple",
      inputs: { INPUT0: input, INPUT1: input },
    });
    return [...(result.outputs["OUTPUT0"]?.data as Int32Array)];
  });
}

async function roads(page: Page): Promise<Pick<NaiadServer, "mode" | "fetchReachesServer">> {
  return await page.evaluate(() => {
    const { mode, fetchReachesServer } = window.test.server;
    return { mode, fetchReachesServer };
  });
}

test("a page after a hard reload has no service worker: the port works, and one ordinary reload mends fetch", async ({
  blank,
  origin,
  start,
}) => {
  await start(blank, { loadModels: ["simple"] });
  await hardReload(blank);
  expect(await blank.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
  await startOn(blank, { loadModels: ["simple"] });
  expect(await sumOverPort(blank)).toEqual(range(16).map(() => 42));
  expect(await roads(blank)).toEqual({ mode: "service-worker", fetchReachesServer: false });
  expect(await send(blank, "GET", "/v2/health/live")).toMatchObject({ marked: false });

  await openPage(blank, origin);
  await startOn(blank, { loadModels: ["simple"] });
  expect((await roads(blank)).fetchReachesServer).toBe(true);
  expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
});

test("a browser without service workers has a server of its own", async ({ page, origin }) => {
  await page.addInitScript(() => {
    Reflect.deleteProperty(Navigator.prototype, "serviceWorker");
  });
  await openPage(page, origin);
  await startOn(page, { loadModels: ["simple"] });
  expect(await sumOverPort(page)).toEqual(range(16).map(() => 42));
  expect(await roads(page)).toEqual({ mode: "direct", fetchReachesServer: false });
  const refused = page.evaluate(() => window.test.start({ base: "/other/", mode: "service-worker" }));
  await expect(refused).rejects.toThrow("this page has no service workers");
});

test("an app's own service worker takes the gateway in and keeps everything else", async ({ page }) => {
  const reports: string[] = [];
  const origin = await serveOrigin({ onReport: (text) => reports.push(text) });
  await openPage(page, origin);
  await page.evaluate(() => navigator.serviceWorker.register("/app-sw.js"));
  await startOn(page, { serviceWorker: false, loadModels: ["simple"] });
  expect(parsed(await inferJson(page, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));

  expect(await send(page, "GET", "/app-greeting")).toEqual({
    status: 200,
    body: "hello from the app",
    marked: false,
  });
  for (const path of ["/v2x", "/v3/v2/health/live", "/other/v2"]) {
    expect(await send(page, "GET", path), path).toMatchObject({ marked: false });
  }
  expect(await send(page, "POST", "/__report", "by way of the app")).toMatchObject({ status: 204 });
  expect(reports).toEqual(["by way of the app"]);
  const part = await page.evaluate(async () => {
    const response = await fetch("/models/simple/1/model.onnx", { headers: { range: "bytes=2-9" } });
    return { status: response.status, bytes: [...new Uint8Array(await response.arrayBuffer())] };
  });
  expect(part).toEqual({
    status: 206,
    bytes: [...(await fixtureFile("simple/1/model.onnx")).subarray(2, 10)],
  });
  expect((await page.goto(`${origin.url}index.html?page=2`))?.status()).toBe(200);
  expect(await page.title()).toBe("Naiad under test");

  const seen = await page.evaluate(
    () =>
      new Promise<readonly string[]>((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }: MessageEvent<readonly string[]>) => resolve(data);
        navigator.serviceWorker.controller?.postMessage("what did you see?", [port2]);
      }),
  );
  expect(seen).toEqual(expect.arrayContaining(["/app-greeting", "/__report", "/v2x", "/index.html"]));
  expect(seen.filter((path) => /^\/v2(\/|$)/.test(path))).toEqual([]);
  await origin.close();
});

test("a site below a path of its own", async ({ page }) => {
  const origin = await serveOrigin({ base: "/app/" });
  await openPage(page, origin);
  await startOn(page, { base: "/app/", modelRepository: "models/", loadModels: ["simple"] });
  const scope = await page.evaluate(async () => (await navigator.serviceWorker.ready).scope);
  expect(scope).toBe(origin.url);
  const body = JSON.stringify({ inputs: SIMPLE_INPUTS });
  const answer = await send(page, "POST", "/app/v2/models/simple/infer", body);
  expect(parsed(answer).outputs[0]?.data).toEqual(range(16, 1));
  expect(await send(page, "GET", "/v2/health/live")).toMatchObject({ marked: false });
  await origin.close();
});

test("a service worker of another release is refused, and replaced as soon as the host has the right one", async ({
  page,
}) => {
  const old = await readFile(join(BUILT, "old-sw.js"), "utf8");
  let isDeployed = false;
  const origin = await serveOrigin({
    intercept: (request, response, next) => {
      if (request.url === "/naiad-sw.js" && !isDeployed) sendScript(response, old);
      else next();
    },
  });
  await openPage(page, origin);
  await expect(startOn(page)).rejects.toThrow(
    `the service worker speaks wire version ${OTHER_WIRE_VERSION} of Naiad and this page `,
  );
  isDeployed = true;
  await openPage(page, origin);
  await startOn(page, { loadModels: ["simple"] });
  expect((await roads(page)).fetchReachesServer).toBe(true);
  expect(parsed(await inferJson(page, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  await origin.close();
});
