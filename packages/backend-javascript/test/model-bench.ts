import type { ExecuteContext, InstanceOutcome, InstanceRequest, InstanceResponse } from "@naiad/core";
import { createCustomMetrics } from "@naiad/core";
import { parseConfigText } from "@naiad/model-config";
import type { InferenceRequest as WireRequest, InferenceResponse as WireResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { JavaScriptInstance } from "../src/instance.ts";
import { createJavaScriptInstance } from "../src/instance.ts";
import { InferenceResponse } from "../src/model/inference-response.ts";
import type { InferenceRequest, Model, ModelArgs, ModelClass } from "../src/model/model.ts";
import { Tensor } from "../src/model/tensor.ts";
import type { ModelHost } from "../src/model-host.ts";

const CONFIG = `max_batch_size: 4
  input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }`;
export const DECOUPLED = `${CONFIG} model_transaction_policy { decoupled: true }`;

export function request(values: readonly number[], change: Partial<InstanceRequest> = {}): InstanceRequest {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  const input = { kind: "bytes", name: "X", datatype: "FP32", shape: [1, values.length], bytes } as const;
  return { id: "", inputs: [input], outputs: ["Y"], batchSize: 1, parameters: {}, ...change };
}

/** Y = X doubled. */
export function doubled(given: InferenceRequest): InferenceResponse {
  const input = given.input("X");
  if (input === undefined) throw new Error("X is missing");
  const data = input.as("FP32").map((value) => 2 * value);
  return new InferenceResponse({ outputTensors: [new Tensor("Y", data, input.shape)] });
}

interface Bench {
  readonly instance: JavaScriptInstance;
  readonly log: string[];
  /** What arrived of decoupled requests: values of Y, `end`, or an error's text. */
  readonly heard: string[];
  readonly asked: WireRequest[];
  readonly run: (
    requests: readonly InstanceRequest[],
    signals?: readonly AbortSignal[],
  ) => Promise<readonly InstanceOutcome[]>;
}

interface BenchOptions {
  readonly config?: string;
  readonly infer?: (request: WireRequest, signal: AbortSignal) => Promise<WireResponse>;
  readonly files?: Readonly<Record<string, string>>;
}

export function answerTo({ modelName, id, inputs }: WireRequest): WireResponse {
  return { modelName, modelVersion: "1", id, parameters: { took: 3n }, outputs: inputs };
}

export async function bench(modelClass: ModelClass, options: BenchOptions = {}): Promise<Bench> {
  const { config = CONFIG, files = {} } = options;
  const infer = options.infer ?? ((input: WireRequest) => Promise.resolve(answerTo(input)));
  const log: string[] = [];
  const heard: string[] = [];
  const asked: WireRequest[] = [];
  const metrics = createCustomMetrics();
  const host: ModelHost = {
    log: (level, message) => log.push(`${level}: ${message}`),
    traceActivity: (traceId, activity) => log.push(`trace ${String(traceId)}: ${activity}`),
    infer: (input, signal) => {
      asked.push(input);
      return infer(input, signal);
    },
    async *inferStream(input, signal) {
      asked.push(input);
      yield await infer(input, signal);
      yield await infer(input, signal);
    },
    loadModel: ({ modelName }) => Promise.resolve(void log.push(`load ${modelName}`)),
    unloadModel: ({ modelName }) => Promise.resolve(void log.push(`unload ${modelName}`)),
    isModelReady: ({ modelName }) => Promise.resolve(modelName === "there"),
    metrics: {
      declare: async (family) => {
        metrics.declare(family);
        await Promise.resolve();
      },
      update: (update) => {
        metrics.update(update);
      },
      value: async (metric) => Promise.resolve(metrics.value(metric)),
    },
  };
  const instance = await createJavaScriptInstance(
    {
      code: { modelClass, path: "1/model.js", pathOf: () => undefined },
      config: parseConfigText(`name: "m" backend: "javascript" ${config}`, { fileName: "config.pbtxt" }),
      modelName: "m",
      version: 1,
      instanceName: "m_0_0",
      device: { kind: "cpu", threads: 1 },
      files: {
        paths: Object.keys(files),
        read: (path) => {
          const text = files[path];
          if (text === undefined) throw new InferenceError("NOT_FOUND", `no file '${path}' in the model`);
          return Promise.resolve(new TextEncoder().encode(text));
        },
      },
    },
    host,
  );
  return {
    instance,
    log,
    heard,
    asked,
    async run(requests, signals = []) {
      const context: ExecuteContext = {
        responses: {
          response: (index, response, { final } = {}) => {
            heard.push(`${index}: ${textOf(response)}${final === true ? " end" : ""}`);
            return Promise.resolve();
          },
          end: (index, error) => heard.push(`${index}: ${error === undefined ? "end" : error.message}`),
        },
        signals,
      };
      return (await instance.execute(requests, context)).outcomes;
    },
  };
}

export function textOf(outcome: InstanceResponse | InstanceOutcome): string {
  switch (outcome.kind) {
    case "response":
      return outcome.outputs
        .map((tensor) =>
          tensor.kind === "bytes"
            ? `${tensor.name}=${[...new Float32Array(tensor.bytes.slice().buffer)].join()}`
            : "",
        )
        .join(" ");
    case "error":
      return `${outcome.error.code} ${outcome.error.message}`;
    case "reschedule":
    case "decoupled":
      return outcome.kind;
  }
}

/** A class whose `execute` is this. */
export function model(
  execute: (requests: readonly InferenceRequest[], args: ModelArgs) => unknown,
): ModelClass {
  return class implements Model {
    #args: ModelArgs | undefined;
    initialize(args: ModelArgs): void {
      this.#args = args;
    }
    execute(requests: readonly InferenceRequest[]): ReturnType<Model["execute"]> {
      if (this.#args === undefined) throw new Error("not initialized");
      return execute(requests, this.#args) as ReturnType<Model["execute"]>;
    }
  };
}

export const FAILED = "INTERNAL Failed to process the request(s) for model 'm_0_0', message: ";

export async function textsOf(
  modelClass: ModelClass,
  count = 2,
  options: BenchOptions = {},
): Promise<string[]> {
  const { run } = await bench(modelClass, options);
  return (await run(Array.from({ length: count }, (_, index) => request([index])))).map(textOf);
}
