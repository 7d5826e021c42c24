import type { BrowserContext } from "playwright/test";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { sendScript } from "./altered-host.ts";
import type { Origin } from "./origin.ts";
import { counts, errorOf, inferJson, parsed, range, send, SIMPLE_INPUTS } from "./requests.ts";

/** Long enough to be caught in the middle of, short enough to wait for. */
const LONG_RUN = 1_500;

/** Files of naiad with a host that tells when an instance runs. */
const TELLING = "/mortal/";

const SLOW = { assets: TELLING, loadModels: ["slow_loop"] };

const iterations = (count: number) => [
  { name: "ITERATIONS", datatype: "INT64", shape: [1, 1], data: [count] },
];

/** Resolves when an instance has begun to run something; to be called before it is asked to. */
async function running(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const channel = new BroadcastChannel("e2e");
        channel.onmessage = ({ data }) => {
          if (data !== "running") return;
          channel.close();
          resolve();
        };
      }),
  );
}

/** ECHO of the model `slow_loop`, asked over the port. */
async function loop(page: Page, count: number): Promise<number> {
  return await page.evaluate(async (wanted) => {
    const result = await window.test.server.client.infer({
      modelName: "slow_loop",
      inputs: { ITERATIONS: { data: BigInt64Array.of(BigInt(wanted)), shape: [1, 1] } },
    });
    return Number((result.outputs["ECHO"]?.data as BigInt64Array)[0]);
  }, count);
}

/** A tab that joins the server of the one that has started it with `SLOW`. */
async function joinInNewTab(context: BrowserContext, origin: Origin): Promise<Page> {
  const other = await context.newPage();
  await openPage(other, origin);
  await startOn(other, SLOW);
  return other;
}

test("two threads of an instance give right values, also where weights lie in another file", async ({
  blank,
  start,
}) => {
  await start(blank, { threads: 1, loadModels: ["external_data"] });
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 64], data: range(64) }];
  const [expected] = parsed(await inferJson(blank, "external_data", inputs)).outputs;
  await blank.evaluate(() => window.test.server.stop());

  await start(blank, { threads: 2, loadModels: ["simple", "external_data"] });
  const instances = await blank.evaluate(() => window.test.server.instances());
  expect(instances.map(({ device }) => device?.threads)).toEqual([2, 2]);
  expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  const [actual] = parsed(await inferJson(blank, "external_data", inputs)).outputs;
  expect(actual?.data).toHaveLength(8);
  actual?.data.forEach((value, index) => expect(value).toBeCloseTo(Number(expected?.data[index]), 4));
});

test("the caller keeps its buffers unless it gives them away", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  const lengths = await blank.evaluate(async () => {
    const infer = async (transfer: boolean): Promise<number[]> => {
      const arrays = [new Int32Array(16).fill(1), new Int32Array(16).fill(2)] as const;
      const [left, right] = arrays.map((data) => ({ data, shape: [1, 16] }));
      if (left === undefined || right === undefined) throw new Error("two arrays");
      const result = await window.test.server.client.infer({
        modelName: "simple",
        inputs: { INPUT0: left, INPUT1: right },
        transfer,
      });
      return [...arrays, result.outputs["OUTPUT0"]?.data as Int32Array].map((array) => array.length);
    };
    return { kept: await infer(false), given: await infer(true) };
  });
  expect(lengths).toEqual({ kept: [16, 16, 16], given: [0, 0, 16] });
});

test("what is aborted, or asked by a tab that closes, frees its place", async ({
  blank,
  context,
  origin,
  start,
}) => {
  await start(blank, SLOW);
  const other = await joinInNewTab(context, origin);
  const before = await counts(blank, "slow_loop");

  const began = running(blank);
  const first = loop(blank, 2 * LONG_RUN);
  await began;
  await other.evaluate((count) => {
    const { client } = window.test.server;
    const data = BigInt64Array.of(BigInt(count));
    for (let index = 0; index < 4; index += 1) {
      void client.infer({ modelName: "slow_loop", inputs: { ITERATIONS: { data, shape: [1, 1] } } });
    }
    // Answered after they have arrived.
    return client.serverLive();
  }, LONG_RUN);
  await other.close();
  const codes = await blank.evaluate(async (count) => {
    const controller = new AbortController();
    const data = BigInt64Array.of(BigInt(count));
    const requests = Array.from({ length: 4 }, () =>
      window.test.server.client.infer(
        { modelName: "slow_loop", inputs: { ITERATIONS: { data, shape: [1, 1] } } },
        { signal: controller.signal },
      ),
    );
    controller.abort();
    const ends = await Promise.allSettled(requests);
    return ends.map((end) => end.status === "rejected" && (end.reason as { code: string }).code);
  }, LONG_RUN);
  expect(codes).toEqual(Array.from({ length: 4 }, () => "CANCELLED"));
  const last = loop(blank, 3);
  expect(await first).toBe(2 * LONG_RUN);
  expect(await last).toBe(3);
  const after = await counts(blank, "slow_loop");
  expect(after.inferences - before.inferences).toBe(2);
});

test("an unload waits for the run that is going on", async ({ blank, start }) => {
  await start(blank, SLOW);
  const began = running(blank);
  const answer = loop(blank, LONG_RUN);
  await began;
  await blank.evaluate(() => window.test.server.client.unloadModel("slow_loop"));
  const refused = await inferJson(blank, "slow_loop", iterations(1));
  expect(errorOf(refused)).toBe("Request for unknown model: 'slow_loop' has no available versions");
  expect(await answer).toBe(LONG_RUN);
  await expect.poll(() => blank.evaluate(() => window.test.server.instances())).toEqual([]);
});

test("the tab with the host is closed in the middle of a request: the next host answers it", async ({
  blank,
  context,
  origin,
  start,
}) => {
  await start(blank, SLOW);
  const other = await joinInNewTab(context, origin);
  const began = running(other);
  const fetched = inferJson(other, "slow_loop", iterations(LONG_RUN));
  await began;
  const called = loop(other, 7);
  await blank.close();
  expect(parsed(await fetched).outputs[0]?.data).toEqual([LONG_RUN]);
  expect(await called).toBe(7);
});

test("text that the engine would cut off or cannot read is refused", async ({ blank, start }) => {
  await start(blank, { loadModels: ["identity_bytes"] });
  const nul = await inferJson(blank, "identity_bytes", [
    { name: "INPUT0", datatype: "BYTES", shape: [1, 2], data: ["whole", "a\0b"] },
  ]);
  const invalid = await blank.evaluate(async () => {
    // One element of three bytes, the last of which UTF-8 does not know.
    const element = Uint8Array.of(3, 0, 0, 0, 104, 105, 0xff);
    const head = JSON.stringify({
      inputs: [{ name: "INPUT0", datatype: "BYTES", shape: [1, 1], parameters: { binary_data_size: 7 } }],
    });
    const response = await fetch("/v2/models/identity_bytes/infer", {
      method: "POST",
      headers: { "Inference-Header-Content-Length": String(head.length) },
      body: new Blob([head, element]),
    });
    return { status: response.status, body: await response.text(), marked: true };
  });
  for (const [answer, fault] of [
    [nul, "element 1 of inference input 'INPUT0' contains a NUL byte"],
    [invalid, "element 0 of inference input 'INPUT0' is not valid UTF-8"],
  ] as const) {
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(fault);
  }
  const whole = [{ name: "INPUT0", datatype: "BYTES", shape: [1, 1], data: ["whole"] }];
  expect(parsed(await inferJson(blank, "identity_bytes", whole)).outputs[0]?.data).toEqual(["whole"]);
});

test("a host that cannot start is an error, not a wait", async ({ page }) => {
  let sendSilence = (): void => undefined;
  const isWaiting = new Promise<void>((resolve) => {
    sendSilence = resolve;
  });
  const origin = await serveOrigin({
    intercept: (request, response, next) => {
      switch (request.url) {
        case "/missing/workers/host.js":
          response.writeHead(404).end();
          return;
        case "/throwing/workers/host.js":
          sendScript(response, "throw new Error('bad start')");
          return;
        case "/silent/workers/host.js":
          sendScript(response, "export {};");
          sendSilence();
          return;
        default:
          next();
      }
    },
  });
  await page.clock.install();
  await openPage(page, origin);
  await expect(startOn(page, { assets: "/missing/" })).rejects.toThrow(
    /the host worker '.*\/missing\/workers\/host\.js' failed: its script could not be loaded/,
  );
  await expect(startOn(page, { assets: "/throwing/" })).rejects.toThrow(/host\.js' failed: .*bad start/);
  const silent = expect(startOn(page, { assets: "/silent/" })).rejects.toThrow(
    "the host worker did not start within 30 s",
  );
  await isWaiting;
  await page.clock.fastForward(30_000);
  await silent;

  // None of them stands in the way of one that works.
  await startOn(page, { loadModels: ["simple"] });
  expect(parsed(await inferJson(page, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
  await origin.close();
});

test("an engine that cannot be had fails the load with the reason, and the next load once it is there again", async ({
  page,
}) => {
  let missing = "";
  const origin = await serveOrigin({
    intercept: (request, response, next) => {
      if (request.url === missing) response.writeHead(404).end();
      else next();
    },
  });
  await openPage(page, origin);
  await startOn(page);
  const load = () => send(page, "POST", "/v2/repository/models/simple/load");
  // The module first: once it is compiled, nobody asks for it again.
  for (const [file, reason] of [
    ["/naiad/ort/ort-wasm-simd-threaded.wasm", /could not start: .*threaded\.wasm: HTTP status 404/],
    ["/naiad/ort/ort-wasm-simd-threaded.mjs", /could not start: .*threaded\.mjs: HTTP status 404/],
    ["/naiad/workers/instance-wasm.js", /its script could not be loaded/],
  ] as const) {
    missing = file;
    const refused = await load();
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toMatch(reason);
    missing = "";
    expect(await load()).toMatchObject({ status: 200 });
    expect(parsed(await inferJson(page, "simple", SIMPLE_INPUTS)).outputs[0]?.data).toEqual(range(16, 1));
    await page.evaluate(() => window.test.server.client.unloadModel("simple"));
  }
  await origin.close();
});

test("a page stops its server and starts another", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  const stopped = await blank.evaluate(async () => {
    const { server } = window.test;
    const { hostId } = await server.info();
    await server.stop();
    return { hostId, refusal: await server.client.serverLive().catch((error: unknown) => String(error)) };
  });
  expect(stopped.refusal).toContain("the server was stopped");
  await start(blank, { id: "another", loadModels: ["batcher"] });
  expect(await blank.evaluate(async () => (await window.test.server.info()).hostId)).not.toBe(stopped.hostId);
  expect(JSON.parse((await send(blank, "GET", "/v2")).body)).toMatchObject({ name: "another" });
  expect(await send(blank, "GET", "/v2/models/batcher/ready")).toMatchObject({ status: 200, marked: true });
  expect(await send(blank, "GET", "/v2/models/simple/ready")).toMatchObject({ status: 404, marked: true });
});
