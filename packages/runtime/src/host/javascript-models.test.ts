import { readFile } from "node:fs/promises";
import type { OnnxEngine } from "@naiad/backend-onnxruntime";
import type { CodePlatform } from "@naiad/backend-javascript";
import { createMemoryFileStore } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { MemoryModel, MortalEndpoint } from "@naiad/testing";
import { SERVER_OPTIONS, createMemoryRepository, memoryLocks, realEndpoints } from "@naiad/testing";
import { fixtureModels } from "@naiad/testing/fixture-models";
import { afterEach, describe, expect, it } from "vitest";
import { WIRE_VERSION } from "../contracts.ts";
import { runInstanceWorker } from "../instance/instance-worker.ts";
import { runJavaScriptWorker } from "../instance/javascript-worker.ts";
import { createBrowserClock } from "./browser-clock.ts";
import { composeHost } from "./compose-host.ts";
import { createDigest } from "./digest.ts";
import { FILES_PATH } from "./served-files.ts";

/**
 * The server with models in JavaScript, without a browser: their workers run in this thread, and their modules come from
 * `data:` addresses.
 */
const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
const CODE: CodePlatform = {
  importModule: (url) => import(/* @vite-ignore */ url) as Promise<Readonly<Record<string, unknown>>>,
  makeModuleUrl: (source, type) => `data:${type};base64,${Buffer.from(source).toString("base64")}`,
};

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Start {
  readonly models: Readonly<Record<string, MemoryModel>>;
  readonly load?: readonly string[];
  readonly filesUrl?: string;
  readonly limits?: typeof SERVER_OPTIONS.limits;
}

async function startServer({ models, load = Object.keys(models), filesUrl, limits }: Start) {
  const locks = memoryLocks();
  const lines: string[] = [];
  const workers: { readonly url: string; readonly end: MortalEndpoint; terminated: boolean }[] = [];
  let ids = 0;
  const parts = await composeHost(
    {
      wireVersion: WIRE_VERSION,
      hostId: "host-1",
      options: {
        ...SERVER_OPTIONS,
        modelRepositories: [{ url: "memory:" }],
        modelControlMode: "explicit",
        loadModels: load,
        exitOnError: false,
        httpMaxInputSize: 1_000_000,
        ...(limits !== undefined && { limits }),
      },
      assets: {
        host: "",
        instanceWasm: "wasm",
        instanceJspi: "",
        instanceAsyncify: "",
        instanceJavascript: "javascript",
        ort: "",
      },
      storageName: "",
      ...(filesUrl !== undefined && { filesUrl }),
    },
    {
      clock: createBrowserClock(),
      locks,
      spawner: {
        spawn(url) {
          const { left, right } = realEndpoints();
          const platform = { locks, gpu: undefined, hasWebNn: false, openStore: () => undefined };
          if (url === "javascript") runJavaScriptWorker(right, { platform, code: CODE });
          else runInstanceWorker(right, ENGINE, { platform });
          const worker = { url, end: right, terminated: false };
          workers.push(worker);
          return {
            endpoint: left,
            failed: new Promise(() => undefined),
            terminate: () => {
              worker.terminated = true;
              left.kill();
              right.kill();
            },
          };
        },
      },
      subtle: crypto.subtle,
      hasJspi: false,
      compileModule: () => Promise.reject(new Error("not in this test")),
      newId: () => `id-${(ids += 1)}`,
      writeLog: ({ message }) => lines.push(message),
      probe: () =>
        Promise.resolve({
          gpus: [],
          crossOriginIsolated: false,
          hardwareConcurrency: 2,
          wasmMemoryLimitBytes: 2 ** 32,
        }),
      openStore: () => Promise.resolve(createMemoryFileStore()),
      openSource: () => createMemoryRepository(models, { digest: createDigest(crypto.subtle) }),
    },
  );
  await parts.start(new AbortController().signal);
  ends.push(() => parts.stop());

  async function http(method: string, rawTarget: string, body?: unknown) {
    const {
      status,
      headers,
      body: answer,
    } = await parts.services.handleExchange({
      method,
      rawTarget,
      headers: [],
      body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
      signal: new AbortController().signal,
    });
    const text = answer instanceof Uint8Array ? new TextDecoder().decode(answer) : "a stream";
    return { status, text, headers: Object.fromEntries(headers) };
  }
  async function infer(model: string, values: readonly number[], more: object = {}) {
    const input = { name: "X", datatype: "FP32", shape: [1, values.length], data: values };
    const { status, text } = await http("POST", `/v2/models/${model}/infer`, { inputs: [input], ...more });
    const json = JSON.parse(text) as {
      readonly error?: string;
      readonly outputs?: readonly { readonly data: readonly number[] }[];
    };
    return json.error === undefined ? json.outputs?.[0]?.data : `${status} ${json.error}`;
  }
  /** Y of each response. */
  async function stream(modelName: string, values: readonly number[]): Promise<number[][]> {
    const bytes = new Uint8Array(Float32Array.from(values).buffer);
    const input = { kind: "bytes", name: "X", datatype: "FP32", shape: [1, values.length], bytes } as const;
    const responses = await parts.services.operations.modelStreamInfer(
      { modelName, modelVersion: "", id: "", parameters: {}, inputs: [input], outputs: [] },
      { signal: new AbortController().signal },
    );
    const answers: number[][] = [];
    for await (const { outputs } of responses) {
      const [output] = outputs;
      if (output?.kind === "bytes") answers.push([...new Float32Array(output.bytes.slice().buffer)]);
    }
    return answers;
  }
  return { http, infer, stream, operations: parts.services.operations, lines, workers };
}

const CONFIG = `backend: "javascript" max_batch_size: 4
  input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }`;

/** A model of which each request's Y is what `body`, a function of `x` and `args`, makes of X. */
function model(body: string): string {
  return `
    export default class {
      async initialize(args) { this.args = args; }
      async execute(requests) {
        const { args } = this;
        return Promise.all(requests.map(async (request) => {
          const x = request.input("X");
          const y = await (async () => { ${body} })();
          return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("Y", y, x.shape)] });
        }));
      }
    }`;
}

const DOUBLING: MemoryModel = {
  "config.pbtxt": CONFIG,
  "1/model.js": model("return x.data.map((value) => 2 * value);"),
};

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

  it("that is decoupled sends what its caller reads, another model's too", async () => {
    const counting = `
      export default class {
        async execute(requests) {
          await Promise.all(requests.map(async (request) => {
            const sender = request.getResponseSender();
            const x = request.input("X");
            for (let step = 1; step <= x.data[0]; step += 1) {
              await sender.send(new triton.InferenceResponse({
                outputTensors: [new triton.Tensor("Y", Float32Array.of(step), [1, 1])],
              }));
            }
            await sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
          }));
        }
      }`;
    const summing = `
      let sum = 0;
      for await (const response of args.inferStream({ modelName: "counting", inputs: [x] })) {
        if (response.hasError) throw response.error;
        sum += response.output("Y").data[0];
      }
      const { error } = await args.infer({ modelName: "counting", inputs: [x] });
      args.logger.info(error.message);
      return Float32Array.of(sum);`;
    const { infer, stream, lines } = await startServer({
      models: {
        counting: {
          "config.pbtxt": `${CONFIG} model_transaction_policy { decoupled: true }`,
          "1/model.js": counting,
        },
        summing: { "config.pbtxt": CONFIG, "1/model.js": model(summing) },
      },
    });
    expect(await stream("counting", [3])).toEqual([[1], [2], [3]]);
    expect(await stream("counting", [100])).toHaveLength(100);
    expect(await infer("summing", [4])).toEqual([10]);
    expect(lines.at(-1)).toContain("is using the decoupled. The current BLS request call doesn't support");
    expect(await infer("counting", [1])).toBe(
      "501 HTTP end point doesn't support models with decoupled transaction policy",
    );
  });

  it("hears that nobody waits for its answer any more, and is free for the next request", async () => {
    const waiting = `
      if (x.data[0] > 0) return x.data;
      args.logger.info("waits");
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      args.logger.info("cancelled: " + request.isCancelled());
      return x.data;`;
    const { infer, operations, lines } = await startServer({
      models: { m: { "config.pbtxt": CONFIG, "1/model.js": model(waiting) } },
    });
    const gone = new AbortController();
    const bytes = new Uint8Array(4);
    const input = { kind: "bytes", name: "X", datatype: "FP32", shape: [1, 1], bytes } as const;
    const answer = operations.modelInfer(
      { modelName: "m", modelVersion: "", id: "", parameters: {}, inputs: [input], outputs: [] },
      { signal: gone.signal },
    );
    const outcome = answer.catch((thrown: unknown) => InferenceError.from(thrown).code);
    await expect.poll(() => lines.at(-1)).toBe("m_0: waits");
    gone.abort();
    expect(await outcome).toBe("CANCELLED");
    await expect.poll(() => lines.at(-1)).toBe("m_0: cancelled: true");
    expect(await infer("m", [1])).toEqual([1]);
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

  it("answers requests of a sequence from what it remembers", async () => {
    const remembering = `
      const sums = new Map();
      export default class {
        execute(requests) {
          return requests.map((request) => {
            const x = request.input("X");
            if ((request.flags & triton.SEQUENCE_START) !== 0) sums.set(request.correlationId, 0);
            const sum = sums.get(request.correlationId) + x.data[0];
            sums.set(request.correlationId, sum);
            return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("Y", Float32Array.of(sum), [1, 1])] });
          });
        }
      }`;
    const { infer } = await startServer({
      models: {
        m: { "config.pbtxt": `${CONFIG} sequence_batching { direct {} }`, "1/model.js": remembering },
      },
    });
    const step = (id: number, value: number, more: object = {}): Promise<unknown> =>
      infer("m", [value], { parameters: { sequence_id: id, ...more } });
    expect(await step(1, 1, { sequence_start: true })).toEqual([1]);
    expect(await step(2, 5, { sequence_start: true })).toEqual([5]);
    expect(await step(1, 2)).toEqual([3]);
    expect(await step(1, 3, { sequence_end: true })).toEqual([6]);
  });

  it("is executed again until it is done with an iterative sequence", async () => {
    const iterating = `
      const left = new Map();
      export default class {
        execute(requests) {
          return requests.map((request) => {
            const id = request.correlationId;
            const x = request.input("X");
            if ((request.flags & triton.SEQUENCE_START) !== 0) left.set(id, { steps: 0, wanted: x.data[0] });
            const state = left.get(id);
            state.steps += 1;
            if (state.steps < state.wanted) {
              request.setReleaseFlags(triton.REQUEST_RELEASE_RESCHEDULE);
              return null;
            }
            return new triton.InferenceResponse({
              outputTensors: [new triton.Tensor("Y", Float32Array.of(state.steps), [1, 1])],
            });
          });
        }
      }`;
    const { infer } = await startServer({
      models: {
        m: {
          "config.pbtxt": `${CONFIG} sequence_batching { iterative_sequence: true oldest { max_candidate_sequences: 4 } }`,
          "1/model.js": iterating,
        },
      },
    });
    expect(await Promise.all([infer("m", [3]), infer("m", [5])])).toEqual([[3], [5]]);
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
