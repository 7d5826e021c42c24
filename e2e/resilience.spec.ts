import { expect, killServiceWorkers, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { counts, errorOf, inferJson, parsed, range, send, SIMPLE_INPUTS } from "./requests.ts";

/** Long enough to be caught in the middle of, short enough to wait for. */
const LONG_RUN = 1_500;
/** Longer than anyone waits: only `terminate()` ends it. */
const ENDLESS = 1_000_000_000_000;

const iterations = (count: number) => [
  { name: "ITERATIONS", datatype: "INT64", shape: [1, 1], data: [count] },
];

test("the service worker is killed between two requests", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  parsed(await inferJson(blank, "simple", SIMPLE_INPUTS));
  await killServiceWorkers(blank);
  expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
});

test("the service worker is killed in the middle of a request, which runs once", async ({ blank, start }) => {
  await start(blank, { loadModels: ["slow_loop"] });
  const before = await counts(blank, "slow_loop");
  const answer = inferJson(blank, "slow_loop", iterations(LONG_RUN));
  await blank.waitForTimeout(100);
  await killServiceWorkers(blank);
  expect(parsed(await answer).outputs[0]?.data).toEqual([LONG_RUN]);
  const after = await counts(blank, "slow_loop");
  expect(after.executions - before.executions).toBe(1);
});

test("an instance worker dies in the middle of a batch: its requests are answered all the same", async ({
  blank,
  start,
}) => {
  await start(blank, { loadModels: ["slow_loop", "simple"], assets: "/mortal/" });
  // The youngest worker is the one started last: load the victim last.
  await blank.evaluate(async () => {
    const { client } = window.test.server;
    await client.unloadModel("slow_loop");
    await client.loadModel("slow_loop");
  });
  const answers = Promise.all(
    [1, 2, 3].map((index) => inferJson(blank, "slow_loop", iterations(LONG_RUN + index))),
  );
  await blank.waitForTimeout(150);
  await blank.evaluate(() => new BroadcastChannel("e2e").postMessage("kill-instance"));
  // A neighbour notices nothing.
  expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  (await answers).forEach((answer, index) => {
    expect(parsed(answer).outputs[0]?.data).toEqual([LONG_RUN + index + 1]);
  });
  const [instance] = await blank.evaluate(async () =>
    (await window.test.server.instances()).filter(({ modelName }) => modelName === "slow_loop"),
  );
  expect(instance).toMatchObject({ state: "ready", replacements: 1 });
});

test("an instance that never returns is replaced; its request fails, the next one succeeds", async ({
  blank,
  start,
}) => {
  await start(blank, { loadModels: ["slow_loop", "simple"] });
  const hung = inferJson(blank, "slow_loop", iterations(ENDLESS));
  expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  const answer = await hung;
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(errorOf(answer)).toContain("slow_loop");
  expect(parsed(await inferJson(blank, "slow_loop", iterations(3))).outputs[0]?.data).toEqual([3]);
});

test("a second tab uses the first one's host, and becomes the host when it is closed", async ({
  blank,
  context,
  origin,
  start,
}) => {
  await start(blank, { loadModels: ["simple"] });
  const second = await context.newPage();
  await openPage(second, origin);
  await startOn(second, { loadModels: ["simple"] });
  const [first, joined] = await Promise.all(
    [blank, second].map((page) => page.evaluate(async () => (await window.test.server.info()).hostId)),
  );
  expect(joined).toBe(first);
  parsed(await inferJson(second, "simple", SIMPLE_INPUTS));
  // Loaded through the API, not by an option: it outlives the host as well.
  await second.evaluate(() => window.test.server.client.loadModel("batcher"));

  await blank.close();
  await expect
    .poll(async () => (await send(second, "GET", "/v2/models/simple/ready")).status, { timeout: 20_000 })
    .toBe(200);
  expect(parsed(await inferJson(second, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  await expect
    .poll(async () => (await send(second, "GET", "/v2/models/batcher/ready")).status, { timeout: 20_000 })
    .toBe(200);
  expect(await second.evaluate(async () => (await window.test.server.info()).hostId)).not.toBe(first);
  const sum = await second.evaluate(async () => {
    const ones = new Int32Array(16).fill(1);
    const input = { data: ones, shape: [1, 16] };
    const result = await window.test.server.client.infer({
      modelName: "simple",
      inputs: { INPUT0: input, INPUT1: input },
    });
    return [...(result.outputs["OUTPUT0"]?.data as Int32Array)];
  });
  expect(sum).toEqual(range(16).map(() => 2));
});

test("a model is unloaded and loaded again under requests: each is answered or refused as Triton does", async ({
  blank,
  start,
}) => {
  await start(blank, { loadModels: ["batcher"] });
  const outcome = await blank.evaluate(async () => {
    const { client } = window.test.server;
    const texts = new Map<string, number>();
    let wrong = 0;
    let over = false;
    const clients = Array.from({ length: 8 }, async (_, index) => {
      while (!over) {
        try {
          const data = Float32Array.from([index, 1, 2, 3]);
          const result = await client.infer({
            modelName: "batcher",
            inputs: { INPUT: { data, shape: [1, 4] } },
          });
          if ((result.outputs["OUTPUT"]?.data as Float32Array)[0] !== 2 * index + 1) wrong += 1;
          texts.set("answered", (texts.get("answered") ?? 0) + 1);
        } catch (error) {
          const text = (error as Error).message;
          texts.set(text, (texts.get(text) ?? 0) + 1);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    });
    for (let round = 0; round < 3; round += 1) {
      await client.unloadModel("batcher");
      await new Promise((resolve) => setTimeout(resolve, 50));
      await client.loadModel("batcher");
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    over = true;
    await Promise.all(clients);
    return { wrong, texts: [...texts] };
  });
  expect(outcome.wrong).toBe(0);
  const counted = new Map(outcome.texts);
  expect(counted.get("answered")).toBeGreaterThan(20);
  counted.delete("answered");
  for (const text of counted.keys()) {
    expect(text).toMatch(
      /^Request for unknown model: 'batcher' (is not found|has no available versions|version 1 is not at ready state)$|Server is stopping/,
    );
  }
});

test("mode direct works without any service worker", async ({ page }) => {
  const origin = await serveOrigin();
  await openPage(page, origin);
  await startOn(page, { mode: "direct", loadModels: ["simple"] });
  const result = await page.evaluate(async () => {
    const { server } = window.test;
    const ones = new Int32Array(16).fill(1);
    const input = { data: ones, shape: [1, 16] };
    const answer = await server.client.infer({
      modelName: "simple",
      inputs: { INPUT0: input, INPUT1: input },
    });
    const registrations = await navigator.serviceWorker.getRegistrations();
    return {
      sum: [...(answer.outputs["OUTPUT0"]?.data as Int32Array)],
      mode: server.mode,
      fetchReachesServer: server.fetchReachesServer,
      registrations: registrations.length,
      kept: ones.byteLength,
    };
  });
  expect(result).toEqual({
    sum: range(16).map(() => 2),
    mode: "direct",
    fetchReachesServer: false,
    registrations: 0,
    kept: 64,
  });
  await origin.close();
});

test("a second start on one page gives the same server, or names the options that differ", async ({
  blank,
  start,
}) => {
  await start(blank);
  const result = await blank.evaluate(async () => {
    const same = await window.test.naiad.startServer({
      modelRepository: "/models/",
      allowSoftwareGpu: false,
    });
    const other = await window.test.naiad
      .startServer({ modelRepository: "/models/", id: "other" })
      .catch((error: unknown) => String(error));
    return { same: same === window.test.server, other };
  });
  expect(result.same).toBe(true);
  expect(result.other).toContain("server.id");
});

test("without cross-origin isolation a model runs on one thread", async ({ page }) => {
  const origin = await serveOrigin({ crossOriginIsolation: false });
  await openPage(page, origin);
  await startOn(page, { loadModels: ["simple"] });
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
  expect(parsed(await inferJson(page, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  const [instance] = await page.evaluate(() => window.test.server.instances());
  expect(instance?.device?.threads).toBe(1);
  await origin.close();
});
