import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensembleModels, fixtureModels } from "@naiad/testing/fixture-models";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readServeOptions } from "../options/serve-options.ts";
import { runServer } from "../run-server.ts";

/** Threads run scripts of their own, so these are made here as the package's build makes them. */
let dist: string;
const ORT = dirname(createRequire(import.meta.url).resolve("onnxruntime-web"));
beforeAll(async () => {
  // Inside the package, where they find onnxruntime-web.
  dist = await mkdtemp(fileURLToPath(new URL("../../../../.tsbuild/node-serve-", import.meta.url)));
  for (const name of ["host", "instance-wasm", "instance-javascript"]) {
    await build({
      configFile: false,
      publicDir: false,
      logLevel: "silent",
      resolve: { conditions: ["module", "node", "import", "default"] },
      build: {
        outDir: dist,
        emptyOutDir: false,
        target: "node20",
        minify: false,
        rolldownOptions: {
          input: fileURLToPath(new URL(`${name}.entry.ts`, import.meta.url)),
          platform: "node",
          external: [/^node:/, "onnxruntime-web"],
          output: { format: "es", entryFileNames: `node/${name}.js`, codeSplitting: false },
        },
      },
    });
  }
  await writeFile(join(dist, "package.json"), '{ "type": "module" }');
}, 60_000);
afterAll(() => rm(dist, { recursive: true }));

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Files = Readonly<Record<string, Uint8Array | string>>;

async function writeModel(repository: string, name: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(repository, name, path);
    // Also an empty directory, of an ensemble.
    await mkdir(path.endsWith("/") ? file : dirname(file), { recursive: true });
    if (!path.endsWith("/")) await writeFile(file, content);
  }
}

function fixture(name: string): Files {
  const model = [...fixtureModels(), ...ensembleModels()].find((one) => one.name === name);
  if (model === undefined) throw new Error(`no fixture '${name}'`);
  return { ...model.files, ...Object.fromEntries((model.directories ?? []).map((path) => [`${path}/`, ""])) };
}

/** Models of JavaScript, each doing what no other should suffer from. */
const REPEAT: Files = {
  "config.pbtxt": `
    backend: "javascript"
    input { name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "INDEX" data_type: TYPE_INT32 dims: [ 1 ] }
    model_transaction_policy { decoupled: true }`,
  // Modules in a circle, of which one is named where no lexer sees it.
  "1/model.js": `
    import { repeat } from "./repeat.js";
    export const shape = [1];
    export default class {
      async execute(requests) {
        for (const request of requests) await repeat(request);
      }
    }`,
  "1/repeat.js": `
    import { shape } from "./model.js";
    const name = "start";
    const { default: start } = await import(\`./\${name}.json\`, { with: { type: "json" } });
    export async function repeat(request) {
      const sender = request.getResponseSender();
      const [count] = request.input("COUNT").data;
      for (let index = 0; index < count; index += 1) {
        const outputTensors = [new triton.Tensor("INDEX", Int32Array.of(start + index), shape)];
        await sender.send(new triton.InferenceResponse({ outputTensors }));
      }
      sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
    }`,
  "1/start.json": "10",
};

const FRAGILE: Files = {
  "config.pbtxt": `
    backend: "javascript"
    input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }`,
  "1/model.js": `
    export default class {
      execute(requests) {
        return requests.map((request) => {
          const { data } = request.input("INPUT");
          if (data[0] === 1) process.exit(7);
          if (data[0] === 2) setTimeout(() => { throw new Error("in a timer"); });
          return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("OUTPUT", data, [1])] });
        });
      }
    }`,
};

/** Says when it has begun. */
const SLOW: Files = {
  ...FRAGILE,
  "1/model.js": `
    export default class {
      initialize({ logger }) {
        this.logger = logger;
      }
      async execute([request]) {
        this.logger.info("begun");
        await new Promise((resolve) => setTimeout(resolve, 500));
        const { data } = request.input("INPUT");
        return [new triton.InferenceResponse({ outputTensors: [new triton.Tensor("OUTPUT", data, [1])] })];
      }
    }`,
};

/** A machine that has other things to do takes seconds for what takes none else. */
const PATIENCE = { timeout: 20_000 };

interface Serving {
  readonly http: string;
  readonly metrics: string;
  readonly repository: string;
  readonly log: () => string;
  /** As SIGTERM does. */
  readonly stop: () => void;
  readonly ended: Promise<number>;
}

async function serve(models: Readonly<Record<string, Files>>, ...argv: readonly string[]): Promise<Serving> {
  const repository = await mkdtemp(join(tmpdir(), "naiad-models-"));
  ends.push(() => rm(repository, { recursive: true, force: true }));
  for (const [name, files] of Object.entries(models)) await writeModel(repository, name, files);
  const options = readServeOptions([
    ...["--runtime=node", "--model-repository", repository],
    ...["--http-port=0", "--grpc-port=0", "--metrics-port=0"],
    ...argv,
  ]);
  if (options === "help") throw new Error("that is no server");
  const lines: string[] = [];
  const stop = new AbortController();
  const force = new AbortController();
  const ended = runServer(options, {
    io: { out: () => undefined, error: (line) => lines.push(line) },
    environment: {},
    stop: stop.signal,
    force: force.signal,
    directories: { dist, ort: ORT },
  });
  const isOver = ended.then(
    () => true,
    () => true,
  );
  ends.push(async () => {
    stop.abort();
    force.abort();
    await isOver;
  });
  const log = (): string => lines.join("\n");
  const addressOf = (service: string): string | undefined =>
    new RegExp(`Started ${service} at ([\\d.:]+)`).exec(log())?.[1];
  while (addressOf("Metrics Service") === undefined) {
    const over = await Promise.race([isOver, new Promise((resolve) => setTimeout(resolve, 20, false))]);
    if (over === true) await ended;
  }
  return {
    http: `http://${addressOf("HTTPService") ?? ""}`,
    metrics: `http://${addressOf("Metrics Service") ?? ""}`,
    repository,
    log,
    stop: () => {
      stop.abort();
    },
    ended,
  };
}

const int32 = (name: string, data: readonly number[], shape: readonly number[]) => ({
  name,
  datatype: "INT32",
  shape,
  data,
});
const RANGE = Array.from({ length: 16 }, (_, index) => index);
const ADDENDS = [int32("INPUT0", RANGE, [1, 16]), int32("INPUT1", RANGE, [1, 16])];
const iterations = (count: number) => [
  { name: "ITERATIONS", datatype: "INT64", shape: [1, 1], data: [count] },
];
const DOUBLED = RANGE.map((value) => 2 * value);

function post(url: string, content: unknown): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(content) });
}

function infer({ http }: Serving, model: string, inputs: readonly object[]): Promise<Response> {
  return post(`${http}/v2/models/${model}/infer`, { inputs });
}

/** Bytes of one FP32 tensor there, and of the answer's only tensor back. */
async function inferBinary({ http }: Serving, model: string, name: string, values: Float32Array) {
  const header = new TextEncoder().encode(
    JSON.stringify({
      inputs: [
        {
          name,
          datatype: "FP32",
          shape: [1, values.length],
          parameters: { binary_data_size: values.byteLength },
        },
      ],
      parameters: { binary_data_output: true },
    }),
  );
  const answer = await fetch(`${http}/v2/models/${model}/infer`, {
    method: "POST",
    headers: { "inference-header-content-length": String(header.length) },
    body: Buffer.concat([header, Buffer.from(values.buffer)]),
  });
  const body = new Uint8Array(await answer.arrayBuffer());
  return new Float32Array(body.slice(Number(answer.headers.get("inference-header-content-length"))).buffer);
}

describe("naiad serve --runtime node", { timeout: 60_000 }, () => {
  it("answers as a browser does: JSON, binary, batches, ensembles, responses of decoupled models", async () => {
    const names = ["simple", "identity_fp32", "batcher", "classifier", "ensemble_chain"];
    const models = Object.fromEntries(names.map((name) => [name, fixture(name)]));
    const server = await serve({ ...models, repeat: REPEAT }, "--threads=2");
    expect(server.log()).toMatch(/\| ensemble_chain +\| 1 +\| READY +\|/);
    expect(server.log()).toContain(
      "instance simple_0_0 of model simple runs on wasm (build wasm), 2 threads",
    );

    const answers = await Promise.all(Array.from({ length: 8 }, () => infer(server, "simple", ADDENDS)));
    for (const answer of answers) {
      expect(await answer.json()).toMatchObject({
        outputs: [{ data: DOUBLED }, { data: RANGE.map(() => 0) }],
      });
    }
    const metrics = await (await fetch(`${server.metrics}/metrics`)).text();
    expect(metrics).toContain('nv_inference_request_success{model="simple",version="1"} 8');
    expect(
      Number(/nv_inference_exec_count{model="simple",version="1"} (\d+)/.exec(metrics)?.[1]),
    ).toBeLessThan(8);

    const values = Float32Array.of(1.5, NaN, -0, Infinity);
    expect(await inferBinary(server, "identity_fp32", "INPUT0", values)).toEqual(values);
    const features = Float32Array.of(1, 2, 3, 4);
    const chained = await inferBinary(server, "ensemble_chain", "FEATURES", features);
    const scaled = await inferBinary(server, "batcher", "INPUT", features);
    expect(scaled).toEqual(features.map((value) => 2 * value + 1));
    expect(chained).toEqual(await inferBinary(server, "classifier", "FEATURES", scaled));

    const stream = await post(`${server.http}/v2/models/repeat/generate_stream`, { COUNT: 3 });
    expect([...(await stream.text()).matchAll(/"INDEX":(\d+)/g)].map(([, index]) => index)).toEqual([
      "10",
      "11",
      "12",
    ]);
  });

  it("replaces threads that end, hang, or are ended by their model, and nobody else suffers", async () => {
    const hanging = fixture("slow_loop");
    const config = String(hanging["config.pbtxt"]).replaceAll('"3000"', '"300"');
    const server = await serve({
      fragile: FRAGILE,
      slow_loop: { ...hanging, "config.pbtxt": config },
      simple: fixture("simple"),
    });
    const fragile = (value: number): Promise<Response> =>
      infer(server, "fragile", [int32("INPUT", [value], [1])]);
    expect((await fragile(2)).status).toBe(200);
    await expect.poll(server.log, PATIENCE).toContain("nobody caught Error: in a timer");
    const ended = await fragile(1);
    expect(ended.status).toBe(500);
    expect(await ended.text()).toContain("its thread ended with code 7");
    await expect.poll(async () => (await fragile(0)).status, PATIENCE).toBe(200);

    const stuck = await infer(server, "slow_loop", iterations(1e12));
    expect(stuck.status).toBe(500);
    expect(await stuck.text()).toMatch(/execution .*did not end within 300 ms/);
    const short = async (): Promise<number> => (await infer(server, "slow_loop", iterations(3))).status;
    await expect.poll(short, PATIENCE).toBe(200);
    expect((await infer(server, "simple", ADDENDS)).status).toBe(200);
  });

  it("follows the directory in mode poll, into which it writes nothing", async () => {
    const argv = ["--model-control-mode=poll", "--repository-poll-secs=1"];
    const server = await serve({ fragile: FRAGILE }, ...argv);
    const fragile = (): Promise<Response> => infer(server, "fragile", [int32("INPUT", [5], [1])]);
    expect(await (await fragile()).json()).toMatchObject({ outputs: [{ data: [5] }] });
    const code = String(FRAGILE["1/model.js"]).replace(
      'Tensor("OUTPUT", data',
      'Tensor("OUTPUT", data.map((n) => -n)',
    );
    await writeModel(server.repository, "fragile", { "1/model.js": code });
    await writeModel(server.repository, "simple", fixture("simple"));
    await expect.poll(async () => (await infer(server, "simple", ADDENDS)).status, PATIENCE).toBe(200);
    // Both were found at once, but each is loaded in its own time.
    await expect
      .poll(async (): Promise<unknown> => (await fragile()).json(), PATIENCE)
      .toMatchObject({ outputs: [{ data: [-5] }] });
    expect((await readdir(server.repository, { recursive: true })).sort()).toEqual([
      ...["fragile", "fragile/1", "fragile/1/model.js", "fragile/config.pbtxt"],
      ...["simple", "simple/1", "simple/1/model.onnx", "simple/config.pbtxt"],
    ]);
  });

  it("loads in mode explicit what it is asked to, and the files that come along", async () => {
    const server = await serve({ simple: fixture("simple") }, "--model-control-mode=explicit");
    expect((await infer(server, "simple", ADDENDS)).status).toBe(404);
    const load = (name: string, parameters: object): Promise<Response> =>
      post(`${server.http}/v2/repository/models/${name}/load`, { parameters });
    expect((await load("simple", {})).status).toBe(200);
    expect((await infer(server, "simple", ADDENDS)).status).toBe(200);
    const { "1/model.js": code = "" } = FRAGILE;
    const uploaded = await load("fresh", {
      config: JSON.stringify({
        backend: "javascript",
        input: [{ name: "INPUT", data_type: "TYPE_INT32", dims: [1] }],
        output: [{ name: "OUTPUT", data_type: "TYPE_INT32", dims: [1] }],
      }),
      "file:1/model.js": Buffer.from(code).toString("base64"),
    });
    expect([uploaded.status, await uploaded.text()]).toEqual([200, ""]);
    expect((await infer(server, "fresh", [int32("INPUT", [1], [1])])).status).toBe(500);
    // What came along is there for the instance after the first too.
    await expect
      .poll(async () => (await infer(server, "fresh", [int32("INPUT", [3], [1])])).status, PATIENCE)
      .toBe(200);
    expect(await readdir(server.repository)).toEqual(["simple"]);
  });

  it("answers what it accepted before it ends, and leaves nothing behind", async () => {
    const directories = async (): Promise<readonly string[]> =>
      (await readdir(tmpdir())).filter((name) => name.startsWith("naiad-node-"));
    const before = await directories();
    const server = await serve({ slow: SLOW });
    const [own = ""] = (await directories()).filter((name) => !before.includes(name));
    const last = infer(server, "slow", [int32("INPUT", [4], [1])]);
    await expect.poll(server.log, PATIENCE).toContain("begun");
    server.stop();
    expect(await (await last).json()).toMatchObject({ outputs: [{ data: [4] }] });
    expect(await server.ended).toBe(0);
    expect(server.log()).toContain("Waiting for in-flight requests to complete.");
    expect(own).not.toBe("");
    expect(await directories()).not.toContain(own);
  });

  it("does not start where a model fails to load, and says why", async () => {
    const broken = { ...fixture("simple"), "1/model.onnx": "no model" };
    await expect(serve({ simple: broken })).rejects.toThrow("failed to load all models: simple");
    const typo = { ...FRAGILE, "1/model.js": "export default class {\n  execute( {\n}" };
    await expect(serve({ typo }, "--log-error=true")).rejects.toThrow("failed to load all models: typo");
  });
});
