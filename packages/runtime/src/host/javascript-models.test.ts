import { readFile } from "node:fs/promises";
import type { MemoryModel } from "@naiad/testing";
import { createMemoryRepository } from "@naiad/testing";
import { fixtureModels } from "@naiad/testing/fixture-models";
import { describe, expect, it } from "vitest";
import { CONFIG, DOUBLING, model, startServer } from "../../test/javascript-server.ts";
import { createDigest } from "./digest.ts";
import { FILES_PATH } from "./served-files.ts";

/** The reason why a model is not there. */
async function reasonOf(models: Readonly<Record<string, MemoryModel>>): Promise<unknown> {
  const { http } = await startServer({ models });
  const { text } = await http("POST", "/v2/repository/index");
  return (JSON.parse(text) as readonly { readonly reason?: string }[])[0]?.reason;
}

describe("a model in JavaScript", () => {
  it("is served with a module and a file beside it, in a worker of its own", async () => {
    const main = `
      import { factor } from "./parts/factor.js";
      import table from "./table.json" with { type: "json" };
      export default class {
        async initialize({ files }) { this.offset = Number(await files.readText("offset.txt")); }
        execute(requests) {
          return requests.map((request) => {
            const x = request.input("X");
            const y = x.data.map((value) => value * factor + this.offset + table.more);
            return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("Y", y, x.shape)] });
          });
        }
      }`;
    const { infer, http, workers } = await startServer({
      models: {
        affine: {
          "config.pbtxt": CONFIG,
          "1/model.js": main,
          "1/parts/factor.js": `export { factor } from "../constants.js";`,
          "1/constants.js": "export const factor = 10;",
          "1/table.json": '{ "more": 0.5 }',
          "offset.txt": "3",
        },
      },
    });
    expect(await infer("affine", [1, 2])).toEqual([13.5, 23.5]);
    expect(workers.map(({ url }) => url)).toEqual(["javascript"]);
    const index = JSON.parse((await http("POST", "/v2/repository/index")).text) as unknown;
    expect(index).toMatchObject([{ state: "READY", instances: [{ execution_provider: "javascript" }] }]);
  });

  it("runs as the guide shows it, with several rows in a request", async () => {
    const guide = await readFile(
      new URL("../../../../docs/guide/javascript-models.md", import.meta.url),
      "utf8",
    );
    const blockOf = (firstLine: string): string => {
      const [, block = ""] = guide.split(`\n${firstLine}\n`);
      return block.slice(0, block.indexOf("\n```\n"));
    };
    const { http } = await startServer({
      models: {
        top_class: {
          "config.pbtxt": blockOf("# config.pbtxt"),
          "labels.txt": "cat\ndog\n",
          "1/model.js": blockOf("// 1/model.js"),
          "1/softmax.js": blockOf("// 1/softmax.js"),
        },
      },
    });
    const classesOf = async (data: readonly number[]): Promise<string> => {
      const scores = { name: "SCORES", datatype: "FP32", shape: [data.length / 2, 2], data };
      return (await http("POST", "/v2/models/top_class/infer", { inputs: [scores] })).text;
    };
    expect(await classesOf([5, 1, 0, 0, -1, 7])).toContain('"shape":[3,1],"data":["cat","unsure","dog"]');
  });

  it("is known by its file alone, whatever that is called", async () => {
    const { infer } = await startServer({
      models: {
        a: { ...DOUBLING, "config.pbtxt": CONFIG.replace('backend: "javascript"', "") },
        b: {
          "config.pbtxt": `${CONFIG} default_model_filename: "main.mjs"`,
          "1/main.mjs": DOUBLING["1/model.js"] ?? "",
        },
      },
    });
    expect(await infer("a", [1])).toEqual([2]);
    expect(await infer("b", [1])).toEqual([2]);
  });

  it("completes its own configuration, in a worker that then ends", async () => {
    const completing = `
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
            return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("Y", x.data, x.shape)] });
          });
        }
      }`;
    const { infer, http, workers } = await startServer({ models: { m: { "1/model.js": completing } } });
    expect(await infer("m", [1])).toEqual([1]);
    expect(JSON.parse((await http("GET", "/v2/models/m/config")).text)).toMatchObject({ max_batch_size: 4 });
    expect(workers.map(({ terminated }) => terminated)).toEqual([true, false]);
  });

  it.each<[string, MemoryModel]>([
    ["unable to find '1/model.js' for model instance 'm'", { "config.pbtxt": CONFIG, "1/other.js": "" }],
    ["TypeError: no weights", { "config.pbtxt": CONFIG, "1/model.js": `throw new TypeError("no weights");` }],
    [
      "must be a class with the method 'execute' (export default class { … }), found none",
      { "config.pbtxt": CONFIG, "1/model.js": "export const a = 1;" },
    ],
    [
      "Error: too early",
      {
        "config.pbtxt": CONFIG,
        "1/model.js": `export default class { initialize() { throw new Error("too early"); } execute() {} }`,
      },
    ],
    [
      "autoCompleteConfig function in model 'm' must return a valid ModelConfig object.",
      { "config.pbtxt": CONFIG, "1/model.js": `export default class { static autoCompleteConfig() {} }` },
    ],
  ])("fails its load with the reason: %s", async (text, files) => {
    expect(await reasonOf({ m: files })).toContain(text);
  });

  it("asks ONNX models and models in JavaScript, several at a time", async () => {
    const batcher = fixtureModels().find(({ name }) => name === "batcher");
    const asking = `
      const [onnx, js, gone] = await Promise.all([
        args.infer({ modelName: "batcher", inputs: [new triton.Tensor("INPUT", x.data, x.shape)] }),
        args.infer({ modelName: "doubling", inputs: [x], requestedOutputNames: ["Y"] }),
        args.infer({ modelName: "gone", inputs: [x] }),
      ]);
      args.logger.info("gone: " + gone.error.code + " " + gone.error.message);
      return onnx.output("OUTPUT").data.map((value, index) => value - value + js.output("Y").data[index]);`;
    const { infer, lines } = await startServer({
      models: {
        batcher: batcher?.files ?? {},
        doubling: DOUBLING,
        asking: { "config.pbtxt": CONFIG, "1/model.js": model(asking) },
      },
    });
    expect(await infer("asking", [1, 2, 3, 4])).toEqual([2, 4, 6, 8]);
    expect(lines).toContain("asking_0: gone: NOT_FOUND Request for unknown model: 'gone' is not found");
  });

  it("loads, asks and unloads another model", async () => {
    const body = `
      const before = await args.isModelReady("doubling");
      await args.loadModel("doubling");
      const { hasError } = await args.infer({ modelName: "doubling", inputs: [x] });
      await args.unloadModel("doubling");
      return Float32Array.of(Number(before), Number(hasError));`;
    const { infer } = await startServer({
      models: { doubling: DOUBLING, loading: { "config.pbtxt": CONFIG, "1/model.js": model(body) } },
      load: ["loading"],
    });
    expect(await infer("loading", [1, 2])).toEqual([0, 0]);
  });

  it("loads another model while it is loaded itself", async () => {
    const main = `
      export default class {
        async initialize(args) { this.args = args; await args.loadModel("doubling"); }
        async execute([request]) {
          return [await this.args.infer({ modelName: "doubling", inputs: request.inputs })];
        }
      }`;
    const { infer, http } = await startServer({
      models: { doubling: DOUBLING, m: { "config.pbtxt": CONFIG, "1/model.js": main } },
      load: [],
    });
    expect(await http("POST", "/v2/repository/models/m/load")).toMatchObject({ status: 200 });
    expect(await infer("m", [4])).toEqual([8]);
  });

  it("says itself whether it is ready", async () => {
    const saying = `
      let ready = true;
      export default class {
        isReady() { return ready; }
        execute(requests) {
          ready = false;
          return requests.map(() => new triton.InferenceResponse());
        }
      }`;
    const { infer, http } = await startServer({
      models: { m: { "config.pbtxt": CONFIG, "1/model.js": saying }, doubling: DOUBLING },
    });
    expect(await http("GET", "/v2/models/m/ready")).toMatchObject({ status: 200 });
    await infer("m", [1]);
    expect(await http("GET", "/v2/models/m/ready")).toMatchObject({
      status: 503,
      text: JSON.stringify({ error: "Model 'm_0' is not ready (user-defined check failed)." }),
    });
    expect(await http("GET", "/v2/models/doubling/ready")).toMatchObject({ status: 200 });
  });

  it("that waits for itself for ever is ended by the watchdog", async () => {
    const body = `await args.infer({ modelName: "m", inputs: [x] }); return x.data;`;
    const { infer, workers } = await startServer({
      models: { m: { "config.pbtxt": CONFIG, "1/model.js": model(body) } },
      limits: { createMs: 300, firstRunMs: 100, runMs: 100 },
    });
    expect(await infer("m", [1])).toMatch(
      /^500 .*instance worker javascript:m_0 was ended: it waited for another model for 300 ms/,
    );
    expect(workers[0]?.terminated).toBe(true);
  });

  it("adds its metrics to the server's", async () => {
    const body = `
      const family = await args.metricFamily({ name: "values", description: "Values seen", kind: "counter" });
      const metric = family.metric({ labels: { model: args.modelName } });
      metric.increment(x.data.length);
      return Float32Array.of(await metric.value());`;
    const counting = { "config.pbtxt": CONFIG, "1/model.js": model(body) };
    const { infer, http } = await startServer({ models: { a: counting, b: counting } });
    expect(await infer("a", [1])).toEqual([1]);
    expect(await infer("a", [1])).toEqual([2]);
    expect(await infer("b", [1])).toEqual([1]);
    const { text } = await http("GET", "/metrics");
    expect(text).toContain(
      '# HELP values Values seen\n# TYPE values counter\nvalues{model="a"} 2\nvalues{model="b"} 1\n',
    );
  });
});

describe("files of models in JavaScript", () => {
  it("are served by the hash of all of them, while the model is", async () => {
    const { http, lines } = await startServer({
      models: { m: { ...DOUBLING, "1/a b.json": "[]", "1/page.html": "<script>" } },
      filesUrl: "https://app.test/v2-files/",
    });
    expect(lines.join("\n")).not.toContain("failed");
    const directory = createMemoryRepository(
      { m: { ...DOUBLING, "1/a b.json": "[]", "1/page.html": "<script>" } },
      {
        digest: createDigest(crypto.subtle),
      },
    );
    const [model] = (await directory.manifest(new AbortController().signal)).models;
    const names = (model?.files ?? [])
      .filter(({ path }) => path !== "config.pbtxt")
      .map(({ path, sha256 }) => `${sha256} ${path}\n`)
      .sort();
    const hash = await createDigest(crypto.subtle).sha256(new TextEncoder().encode(names.join("")));
    const get = (path: string, method = "GET") => http(method, `${FILES_PATH}${hash}/${path}`);
    expect(await get("1/model.js")).toMatchObject({
      status: 200,
      text: DOUBLING["1/model.js"],
      headers: { "content-type": "text/javascript", "x-content-type-options": "nosniff" },
    });
    expect(await get("1/model.js", "HEAD")).toMatchObject({ status: 200, text: "" });
    expect(await get("1/a%20b.json")).toMatchObject({
      status: 200,
      headers: { "content-type": "application/json" },
    });
    expect(await get("1/page.html")).toMatchObject({
      headers: { "content-type": "application/octet-stream" },
    });
    for (const path of ["1/gone.js", "../m/1/model.js", "1/%zz", ""]) {
      expect(await get(path)).toMatchObject({ status: 404 });
    }
    expect(await get("1/model.js", "POST")).toMatchObject({ status: 405 });
    await http("POST", "/v2/repository/models/m/unload");
    await expect.poll(async () => (await get("1/model.js")).status).toBe(404);
  });
});
