import type { StartServerOptions } from "naiad";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test as base } from "./fixtures.ts";
import { BROKEN, javaScriptModelFiles } from "./javascript-models.ts";
import type { Origin } from "./origin.ts";
import type { OwnRepository } from "./own-models.ts";
import { ownRepository } from "./own-models.ts";
import { errorOf, inferJson, parsed, send } from "./requests.ts";

const test = base.extend<object, { readonly repository: OwnRepository; readonly models: Origin }>({
  repository: [
    async ({}, use) => {
      const repository = await ownRepository(await javaScriptModelFiles());
      await use(repository);
      await repository.remove();
    },
    { scope: "worker" },
  ],
  models: [
    async ({ repository }, use) => {
      const origin = await serveOrigin({ models: repository.directory });
      await use(origin);
      await origin.close();
    },
    { scope: "worker" },
  ],
});

async function open(page: Page, origin: Origin, options: Partial<StartServerOptions>): Promise<void> {
  await openPage(page, origin);
  await startOn(page, options);
}

/** With a policy that allows scripts of the site alone. */
function serveStrictly(repository: OwnRepository): Promise<Origin> {
  return serveOrigin({
    models: repository.directory,
    intercept: (_request, response, next) => {
      response.setHeader(
        "content-security-policy",
        "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'",
      );
      next();
    },
  });
}

const x = (data: readonly number[], datatype = "FP32") => [
  { name: "X", datatype, shape: [1, data.length], data },
];

/** Y, or status and error. */
async function ask(page: Page, model: string, data: readonly number[], datatype?: string): Promise<unknown> {
  const answer = await inferJson(page, model, x(data, datatype));
  return answer.status === 200 ? parsed(answer).outputs[0]?.data : `${answer.status} ${errorOf(answer)}`;
}

test("a model in JavaScript answers fetch, with modules and data beside it", async ({ page, models }) => {
  await open(page, models, { loadModels: ["affine", "circle", "completing"] });
  expect(await ask(page, "affine", [1, 2])).toEqual([13, 23]);
  expect(await ask(page, "circle", [1, 2])).toEqual([10, 20]);
  expect(await ask(page, "completing", [1, 2])).toEqual([1, 2]);
  const instances = await page.evaluate(() => window.test.server.instances());
  expect(new Set(instances.map(({ device }) => device?.executionProvider))).toEqual(new Set(["javascript"]));
});

test("a policy that allows scripts of the site alone allows models in JavaScript", async ({
  page,
  repository,
}) => {
  const origin = await serveStrictly(repository);
  await open(page, origin, { loadModels: ["affine", "simple"] });
  expect(await ask(page, "affine", [1, 2])).toEqual([13, 23]);
  await origin.close();
});

test("below another base, too", async ({ page, repository }) => {
  const origin = await serveOrigin({ models: repository.directory, base: "/app/" });
  await open(page, origin, { base: "/app/", modelRepository: "models/", loadModels: ["circle"] });
  const answer = await send(page, "POST", "/app/v2/models/circle/infer", JSON.stringify({ inputs: x([1]) }));
  expect(parsed(answer).outputs[0]?.data).toEqual([10]);
  await origin.close();
});

test("files of models are given to those who know their hash", async ({ page, models }) => {
  await open(page, models, { loadModels: ["affine"] });
  expect(await send(page, "GET", "/v2-files/0/1/model.js")).toMatchObject({ status: 404, marked: true });
});

test("a model in JavaScript asks an ONNX model", async ({ page, models }) => {
  await open(page, models, { loadModels: ["asking", "simple"] });
  const data = Array.from({ length: 16 }, (_, index) => index);
  expect(await ask(page, "asking", data, "INT32")).toEqual(data.map((value) => value + 1));
});

test("an endless loop ends with its worker, and others answer meanwhile", async ({ page, models }) => {
  await open(page, models, { loadModels: ["looping", "affine"] });
  expect(await ask(page, "looping", [1])).toEqual([1]);
  const looping = ask(page, "looping", [-1]);
  await expect.poll(() => ask(page, "affine", [0])).toEqual([3]);
  expect(await looping).toMatch(
    /^500 .*instance 'looping_0' of model 'looping' was lost .*instance worker javascript:looping_0 was ended/,
  );
  expect(await ask(page, "looping", [2])).toEqual([2]);
});

test("a worker that crashes fails its request once, and another takes its place", async ({
  page,
  models,
}) => {
  await open(page, models, { loadModels: ["crashing"] });
  expect(await ask(page, "crashing", [-1])).toMatch(
    /^500 .*instance 'crashing_0' of model 'crashing' was lost while it executed the request: .*the platform ended it/,
  );
  expect(await ask(page, "crashing", [2])).toEqual([2]);
});

test("a model that thinks for ever about whether it is ready is replaced before it hurts a request", async ({
  page,
  models,
}) => {
  await open(page, models, { loadModels: ["undecided"] });
  const answer = await send(page, "GET", "/v2/models/undecided/ready");
  expect(answer.status).toBe(503);
  expect(errorOf(answer)).toBe(
    "instance worker javascript:undecided_0 was ended: isReady() did not end within 5000 ms",
  );
  expect(await ask(page, "undecided", [2])).toEqual([2]);
});

test("modules that do not load are told of with file, line and column", async ({ page, models }) => {
  await open(page, models, { loadModels: [] });
  for (const [model, { text }] of Object.entries(BROKEN)) {
    const answer = await send(page, "POST", `/v2/repository/models/${model}/load`, "{}");
    expect(errorOf(answer)).toContain(text);
  }
});

test("what a model leaves uncaught is logged with its place, and the model goes on", async ({
  page,
  models,
}) => {
  await openPage(page, models);
  await page.evaluate(async () => {
    const lines: string[] = [];
    Object.assign(window, { lines });
    await window.test.start({
      loadModels: ["careless"],
      onEvent: (event) => {
        if (event.kind === "log" && event.level === "error") lines.push(event.message);
      },
    });
  });
  expect(await ask(page, "careless", [1])).toEqual([1]);
  const lines = (): Promise<string[]> =>
    page.evaluate(() => (window as unknown as { readonly lines: string[] }).lines);
  await expect.poll(async () => (await lines()).length).toBe(2);
  expect((await lines()).sort()).toEqual([
    expect.stringMatching(/^careless_0: nobody caught Error: left alone\n\nAt:\n {2}1\/model\.js\(6\): /),
    expect.stringMatching(/^careless_0: nobody caught RangeError: forgotten\n\nAt:\n {2}1\/model\.js\(5\): /),
  ]);
  expect(await ask(page, "careless", [2])).toEqual([2]);
});

test("what a model must not return is the error of its requests alone", async ({ page, models }) => {
  await open(page, models, { loadModels: ["wrong", "affine"] });
  expect(await ask(page, "wrong", [1])).toBe(
    "500 Failed to process the request(s) for model 'wrong_0', message: Expected a list in the execute return, " +
      "found type 'string'.",
  );
  expect(await ask(page, "affine", [0])).toEqual([3]);
});

test("without a service worker modules come from their texts", async ({ page, models }) => {
  await openPage(page, models);
  const outcome = await page.evaluate(async () => {
    const server = await window.test.start({ mode: "direct", loadModels: ["affine"], exitOnError: false });
    const input = { data: Float32Array.of(1, 2), shape: [1, 2] };
    const { outputs } = await server.client.infer({ modelName: "affine", inputs: { X: input } });
    const circle = await server.client.loadModel("circle").catch((error: unknown) => String(error));
    return { y: [...(outputs["Y"]?.data as Float32Array)], circle };
  });
  expect(outcome.y).toEqual([13, 23]);
  expect(outcome.circle).toContain("modules import each other in a circle");
});

test("without a service worker modules that do not load are told of the same way", async ({
  page,
  models,
}) => {
  await openPage(page, models);
  const texts = await page.evaluate(async (names) => {
    const server = await window.test.start({ mode: "direct", loadModels: [], exitOnError: false });
    const load = (name: string): Promise<string> =>
      server.client.loadModel(name).then(
        () => "loaded",
        (error: unknown) => String(error),
      );
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await load(name)] as const)),
    );
  }, Object.keys(BROKEN));
  for (const [model, { text }] of Object.entries(BROKEN)) expect(texts[model]).toContain(text);
  expect(Object.values(texts).join("\n")).not.toContain("blob:");
});

test("without a service worker a policy that forbids texts as modules is named", async ({
  page,
  repository,
}) => {
  const origin = await serveStrictly(repository);
  await openPage(page, origin);
  const text = await page.evaluate(async () => {
    const server = await window.test.start({ mode: "direct", loadModels: [], exitOnError: false });
    return server.client.loadModel("affine").catch((error: unknown) => String(error));
  });
  expect(text).toContain("its script-src needs `blob:`");
  await origin.close();
});
