import type { StartServerOptions } from "naiad";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test as base } from "./fixtures.ts";
import type { Origin } from "./origin.ts";
import type { OwnRepository } from "./own-models.ts";
import { fixtureFile, ownRepository } from "./own-models.ts";
import { errorOf, inferJson, parsed, send } from "./requests.ts";

const io = (datatype = "TYPE_FP32"): string => `
  input { name: "X" data_type: ${datatype} dims: [ -1 ] }
  output { name: "Y" data_type: ${datatype} dims: [ -1 ] }`;

/** Y = X times what a module beside it says, plus what a data file says. */
const AFFINE = `
  import { factor } from "./lib/factor.js";
  const { Tensor, InferenceResponse } = triton;
  export default class {
    async initialize({ files }) {
      this.offset = (await files.readJson("offset.json")).offset;
    }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        const y = x.data.map((value) => value * factor + this.offset);
        return new InferenceResponse({ outputTensors: [new Tensor("Y", y, x.shape)] });
      });
    }
  }`;

/** Both modules name each other, which only addresses of a server allow. */
const FACTOR = `
  import { ten } from "../ten.js";
  export const factor = ten();`;
const TEN = `
  import * as back from "./lib/factor.js";
  export function ten() { return 10; }
  export { back };`;

/** The sums and differences of the ONNX model \`simple\`, asked for at once. */
const ASKING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    initialize({ infer }) { this.infer = infer; }
    async execute(requests) {
      return Promise.all(requests.map(async (request) => {
        const x = request.input("X");
        const ones = new Tensor("INPUT1", new Int32Array(16).fill(1), [1, 16]);
        const inputs = [new Tensor("INPUT0", x.data, x.shape), ones];
        const [sum, gone] = await Promise.all([
          this.infer({ modelName: "simple", inputs, requestedOutputNames: ["OUTPUT0"] }),
          this.infer({ modelName: "gone", inputs }),
        ]);
        if (!gone.hasError) throw new Error("there is no such model");
        return new InferenceResponse({
          outputTensors: [new Tensor("Y", sum.output("OUTPUT0").data, x.shape)],
        });
      }));
    }
  }`;

const LOOPING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        while (x.data[0] < 0) { /* for ever */ }
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

/** Answers, and leaves behind what nobody catches. */
const CARELESS = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    execute(requests) {
      setTimeout(() => { throw new RangeError("forgotten"); });
      void Promise.reject(new Error("left alone"));
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

const COMPLETING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    static autoCompleteConfig(config) {
      config.setMaxBatchSize(4);
      config.addInput({ name: "X", data_type: "TYPE_FP32", dims: [-1] });
      config.addOutput({ name: "Y", data_type: "TYPE_FP32", dims: [-1] });
      return config;
    }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

/** Ends its own worker, unless X is positive. */
const CRASHING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    async execute(requests) {
      const [x] = requests.map((request) => request.input("X"));
      if (x.data[0] < 0) {
        self.close();
        await new Promise(() => {});
      }
      return requests.map(() => new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] }));
    }
  }`;

/** Thinks for ever about whether it is ready. */
const UNDECIDED = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    isReady() { for (;;); }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

const EMPTY = "export default class { execute() {} }";

interface Broken {
  /** Below the model's version. */
  readonly files: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Models whose modules do not load, and what is said of them. */
const BROKEN: Readonly<Record<string, Broken>> = {
  syntax: {
    files: { "model.js": "export default class {\n  execute() {\n    const a = ;\n  }\n}" },
    text: "1/model.js:3:15: SyntaxError: Unexpected token ';'",
  },
  syntax_beside: {
    files: { "model.js": `import "./lib/dep.js";\n${EMPTY}`, "lib/dep.js": "let a;\n  let b = {;" },
    text: "1/lib/dep.js:2:12: SyntaxError: Unexpected token ';'",
  },
  missing: {
    files: { "model.js": `import "./dep.js";\n${EMPTY}`, "dep.js": '\nimport "./gone.js";' },
    text: "1/dep.js:2:8 imports './gone.js', and the model has no such file",
  },
  bare: {
    files: { "model.js": `import _ from "lodash";\n${EMPTY}` },
    text: "1/model.js:1:15 imports 'lodash', which is no file of the model",
  },
  no_export: {
    files: { "model.js": `import { b } from "./dep.js";\n${EMPTY}`, "dep.js": "export const a = 1;" },
    text: "1/model.js:1:10: SyntaxError: The requested module",
  },
  thrown: {
    files: { "model.js": `import "./dep.js";\n${EMPTY}`, "dep.js": "\nnothing();" },
    text: "ReferenceError: nothing is not defined\n\nAt:\n  1/dep.js(2): <module>\n",
  },
};

const brokenFiles = Object.fromEntries(
  Object.entries(BROKEN).flatMap(([model, { files }]) => [
    [`${model}/config.pbtxt`, `backend: "javascript" ${io()}`],
    ...Object.entries(files).map(([path, text]) => [`${model}/1/${path}`, text]),
  ]),
) as Readonly<Record<string, string>>;

const WRONG = `export default class { execute() { return "nothing"; } }`;

const config = (more = ""): string => `backend: "javascript" max_batch_size: 8 ${more}`;

const test = base.extend<object, { readonly repository: OwnRepository; readonly models: Origin }>({
  repository: [
    async ({}, use) => {
      const simple = (path: string): Promise<Uint8Array> => fixtureFile(`simple/${path}`);
      const repository = await ownRepository({
        "affine/config.pbtxt": config(io()),
        "affine/1/model.js": AFFINE,
        "affine/1/lib/factor.js": FACTOR,
        "affine/1/ten.js": "export const ten = () => 10;",
        "affine/offset.json": '{ "offset": 3 }',
        "circle/config.pbtxt": config(io()),
        "circle/1/model.js": AFFINE,
        "circle/1/lib/factor.js": FACTOR,
        "circle/1/ten.js": TEN,
        "circle/offset.json": '{ "offset": 0 }',
        "asking/config.pbtxt": config(io("TYPE_INT32")),
        "asking/1/model.js": ASKING,
        "looping/config.pbtxt": config(
          `${io()} parameters { key: "watchdog_run_ms" value { string_value: "700" } }`,
        ),
        "looping/1/model.js": LOOPING,
        "crashing/config.pbtxt": config(io()),
        "crashing/1/model.js": CRASHING,
        "undecided/config.pbtxt": config(io()),
        "undecided/1/model.js": UNDECIDED,
        ...brokenFiles,
        "wrong/config.pbtxt": config(io()),
        "wrong/1/model.js": WRONG,
        "careless/config.pbtxt": config(io()),
        "careless/1/model.js": CARELESS,
        "completing/1/model.js": COMPLETING,
        "simple/config.pbtxt": await simple("config.pbtxt"),
        "simple/1/model.onnx": await simple("1/model.onnx"),
      });
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
  const origin = await serveOrigin({
    models: repository.directory,
    intercept: (_request, response, next) => {
      response.setHeader(
        "content-security-policy",
        "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'",
      );
      next();
    },
  });
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
  const origin = await serveOrigin({
    models: repository.directory,
    intercept: (_request, response, next) => {
      response.setHeader(
        "content-security-policy",
        "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'",
      );
      next();
    },
  });
  await openPage(page, origin);
  const text = await page.evaluate(async () => {
    const server = await window.test.start({ mode: "direct", loadModels: [], exitOnError: false });
    return server.client.loadModel("affine").catch((error: unknown) => String(error));
  });
  expect(text).toContain("its script-src needs `blob:`");
  await origin.close();
});
