import type { OnnxEngine } from "@naiad/backend-onnxruntime";
import type { CodePlatform } from "@naiad/backend-javascript";
import type { MemoryModel, MortalEndpoint } from "@naiad/testing";
import { SERVER_OPTIONS, memoryLocks, realEndpoints } from "@naiad/testing";
import { afterEach } from "vitest";
import { WIRE_VERSION } from "../src/contracts.ts";
import { runInstanceWorker } from "../src/instance/instance-worker.ts";
import { runJavaScriptWorker } from "../src/instance/javascript-worker.ts";
import { composeHost } from "../src/host/compose-host.ts";
import { memoryPlatform, NO_ASSETS } from "./memory-platform.ts";

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

export async function startServer({ models, load = Object.keys(models), filesUrl, limits }: Start) {
  const locks = memoryLocks();
  const lines: string[] = [];
  const workers: { readonly url: string; readonly end: MortalEndpoint; terminated: boolean }[] = [];
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
      assets: { ...NO_ASSETS, instanceWasm: "wasm", instanceJavascript: "javascript" },
      storageName: "",
      ...(filesUrl !== undefined && { filesUrl }),
    },
    memoryPlatform({
      locks,
      lines,
      models,
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
    }),
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

export const CONFIG = `backend: "javascript" max_batch_size: 4
  input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }`;

/** A model of which each request's Y is what `body`, a function of `x` and `args`, makes of X. */
export function model(body: string): string {
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

export const DOUBLING: MemoryModel = {
  "config.pbtxt": CONFIG,
  "1/model.js": model("return x.data.map((value) => 2 * value);"),
};
