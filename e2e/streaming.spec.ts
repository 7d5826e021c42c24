import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test as base } from "./fixtures.ts";
import type { Origin } from "./origin.ts";
import { ownRepository } from "./own-models.ts";
import { errorOf, send } from "./requests.ts";

/** Counts up to N, a number every DELAY milliseconds, and waits for room after each. N below 0 fails. */
const COUNTER = `
  const { Tensor, InferenceResponse, ModelError, RESPONSE_COMPLETE_FINAL } = triton;
  let sent = 0;
  export default class {
    execute(requests) {
      for (const request of requests) void this.count(request);
    }
    async count(request) {
      const sender = request.getResponseSender();
      const [count] = request.input("N").data;
      const [delay] = request.input("DELAY").data;
      if (count < 0) {
        sender.send(new InferenceResponse({ error: new ModelError("cannot count down", "INVALID_ARG") }));
      }
      for (let index = 0; index < count && !sender.isCancelled(); index += 1) {
        if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
        sent += 1;
        const outputTensors = [
          new Tensor("OUT", Int32Array.of(index), [1]),
          new Tensor("SENT", Int32Array.of(sent), [1]),
        ];
        await sender.send(new InferenceResponse({ outputTensors }));
      }
      sender.send(null, RESPONSE_COMPLETE_FINAL);
    }
  }`;

const CONFIG = `
  backend: "javascript"
  input { name: "N" data_type: TYPE_INT32 dims: [ 1 ] }
  input { name: "DELAY" data_type: TYPE_INT32 dims: [ 1 ] }
  output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
  output { name: "SENT" data_type: TYPE_INT32 dims: [ 1 ] }
  model_transaction_policy { decoupled: true }`;

const test = base.extend<object, { readonly models: Origin }>({
  models: [
    async ({}, use) => {
      const repository = await ownRepository({
        "counter/config.pbtxt": CONFIG,
        "counter/1/model.js": COUNTER,
      });
      const origin = await serveOrigin({ models: repository.directory });
      await use(origin);
      await origin.close();
      await repository.remove();
    },
    { scope: "worker" },
  ],
});

const GENERATE = "/v2/models/counter/generate";
const STREAM = "/v2/models/counter/generate_stream";

async function open(page: Page, origin: Origin): Promise<void> {
  await openPage(page, origin);
  await startOn(page, { loadModels: ["counter"] });
}

interface Statistics {
  readonly inference_stats: Record<"success" | "fail", { readonly count: number }>;
  readonly response_stats: Record<string, Record<"success" | "cancel", { readonly count: number }>>;
}

async function statistics(page: Page): Promise<Statistics> {
  const { body } = await send(page, "GET", "/v2/models/counter/stats");
  const { model_stats } = JSON.parse(body) as { readonly model_stats: readonly [Statistics] };
  return model_stats[0];
}

/** Responses that a model gave and requests that it let go of, over all indices. */
async function responseCounts(page: Page): Promise<{ readonly given: number; readonly cancelled: number }> {
  const entries = Object.values((await statistics(page)).response_stats);
  return {
    given: entries.reduce((sum, { success }) => sum + success.count, 0),
    cancelled: entries.reduce((sum, { cancel }) => sum + cancel.count, 0),
  };
}

test("fetch gets each event of a decoupled model when it is there", async ({ page, models }) => {
  await open(page, models);
  const seen = await page.evaluate(async (path) => {
    const response = await fetch(path, { method: "POST", body: JSON.stringify({ N: 4, DELAY: 150 }) });
    const pieces: { text: string; atMs: number }[] = [];
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) break;
      pieces.push({ text: piece.value, atMs: performance.now() });
    }
    return { status: response.status, type: response.headers.get("content-type"), pieces };
  }, STREAM);
  expect([seen.status, seen.type]).toEqual([200, "text/event-stream; charset=utf-8"]);
  const events = seen.pieces.map(({ text }) => text);
  expect(events).toEqual(
    [0, 1, 2, 3].map(
      (index) => `data: {"OUT":${index},"SENT":${index + 1},"model_name":"counter","model_version":"1"}\n\n`,
    ),
  );
  const [first, last] = [seen.pieces[0], seen.pieces[3]];
  expect((last?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(300);
});

test("generate and infer with a decoupled model answer as Triton does", async ({ page, models }) => {
  await open(page, models);
  const once = await send(page, "POST", GENERATE, '{"N":1,"DELAY":0}');
  expect(once).toMatchObject({
    status: 200,
    body: '{"OUT":0,"SENT":1,"model_name":"counter","model_version":"1"}',
  });
  const notOne =
    "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";
  const none = await send(page, "POST", GENERATE, '{"N":0,"DELAY":0}');
  expect([none.status, errorOf(none)]).toEqual([500, notOne]);
  const many = await send(page, "POST", GENERATE, '{"N":1000000,"DELAY":1}');
  expect([many.status, errorOf(many)]).toEqual([200, notOne]);
  const failed = await send(page, "POST", GENERATE, '{"N":-1,"DELAY":0}');
  expect([failed.status, errorOf(failed)]).toEqual([400, "cannot count down"]);
  const infer = await send(page, "POST", "/v2/models/counter/infer", "{}");
  expect([infer.status, errorOf(infer)]).toEqual([
    501,
    "HTTP end point doesn't support models with decoupled transaction policy",
  ]);
});

test("a fetch that is aborted in the middle ends in the model at once", async ({ page, models }) => {
  await open(page, models);
  await page.evaluate(async (path) => {
    const aborting = new AbortController();
    const response = await fetch(path, {
      method: "POST",
      body: '{"N":1000000,"DELAY":10}',
      signal: aborting.signal,
    });
    await response.body?.getReader().read();
    aborting.abort();
  }, STREAM);
  await expect.poll(async () => (await responseCounts(page)).cancelled, { timeout: 3000 }).toBe(1);
  expect((await statistics(page)).inference_stats.fail.count).toBe(1);
});

test("a reader that leaves ends the request in the model", async ({ page, models }) => {
  await open(page, models);
  await page.evaluate(async (path) => {
    const response = await fetch(path, { method: "POST", body: '{"N":1000000,"DELAY":10}' });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
  }, STREAM);
  await expect.poll(async () => (await responseCounts(page)).cancelled, { timeout: 3000 }).toBe(1);
});

test("a page that goes in the middle ends its requests in the model", async ({ page, models, context }) => {
  await open(page, models);
  const other = await context.newPage();
  await openPage(other, models);
  await startOn(other, { loadModels: ["counter"] });
  await other.evaluate(async (path) => {
    const response = await fetch(path, { method: "POST", body: '{"N":1000000,"DELAY":10}' });
    await response.body?.getReader().read();
  }, STREAM);
  await other.close();
  await expect.poll(async () => (await responseCounts(page)).cancelled, { timeout: 5000 }).toBe(1);
});

// By the SDK: of what a fetch is answered with Chromium takes many megabytes that nobody has read yet.
test("a model waits for a loop that is slow", async ({ page, models }) => {
  await open(page, models);
  const read = page.evaluate(async () => {
    const inputs = { N: { data: Int32Array.of(3000) }, DELAY: { data: Int32Array.of(0) } };
    const numbers: unknown[] = [];
    for await (const { outputs } of window.test.server.client.inferStream({ modelName: "counter", inputs })) {
      numbers.push(outputs["OUT"]?.data[0]);
      if (numbers.length > 1) continue;
      await new Promise((resolve) => {
        window.addEventListener("go-on", resolve, { once: true });
      });
    }
    return numbers;
  });
  let before = -1;
  await expect
    .poll(async () => {
      const { given } = await responseCounts(page);
      const isStill = given > 0 && given === before;
      before = given;
      return isStill;
    })
    .toBe(true);
  expect(before).toBeLessThan(100);
  await page.evaluate(() => window.dispatchEvent(new Event("go-on")));
  expect(await read).toEqual(Array.from({ length: 3000 }, (_, index) => index));
});

test("the SDK iterates over the responses and ends them by leaving the loop or by a signal", async ({
  page,
  models,
}) => {
  await open(page, models);
  const seen = await page.evaluate(async () => {
    const { client } = window.test.server;
    const call = (count: number, delay: number) => ({
      modelName: "counter",
      inputs: { N: { data: Int32Array.of(count) }, DELAY: { data: Int32Array.of(delay) } },
    });
    const all: unknown[] = [];
    for await (const { outputs } of client.inferStream(call(5, 1))) all.push(outputs["OUT"]?.data[0]);
    const untilLeft: unknown[] = [];
    for await (const { outputs } of client.inferStream(call(1e6, 5))) {
      untilLeft.push(outputs["OUT"]?.data[0]);
      if (untilLeft.length === 3) break;
    }
    const aborting = new AbortController();
    let ending = "";
    try {
      for await (const { id } of client.inferStream(call(1e6, 5), { signal: aborting.signal }))
        aborting.abort(id);
    } catch (error) {
      ending = (error as { code: string }).code;
    }
    let failure = "";
    try {
      await client.inferStream(call(-1, 0))[Symbol.asyncIterator]().next();
    } catch (error) {
      failure = (error as Error).message;
    }
    return { all, untilLeft, ending, failure };
  });
  expect(seen).toEqual({
    all: [0, 1, 2, 3, 4],
    untilLeft: [0, 1, 2],
    ending: "CANCELLED",
    failure: "cannot count down",
  });
  await expect.poll(async () => (await responseCounts(page)).cancelled).toBe(2);
});

test("without a service worker the SDK streams all the same", async ({ page, models }) => {
  await openPage(page, models);
  const all = await page.evaluate(async () => {
    const { client } = await window.test.start({ mode: "direct", loadModels: ["counter"] });
    const read: unknown[] = [];
    const inputs = { N: { data: Int32Array.of(40) }, DELAY: { data: Int32Array.of(0) } };
    for await (const { outputs } of client.inferStream({ modelName: "counter", inputs })) {
      read.push(outputs["OUT"]?.data[0]);
    }
    return read;
  });
  expect(all).toEqual(Array.from({ length: 40 }, (_, index) => index));
});
