import type { ExecuteContext, InstanceOutcome, InstanceRequest, InstanceResponse } from "@naiad/core";
import { createCustomMetrics } from "@naiad/core";
import { parseConfigText } from "@naiad/model-config";
import type {
  InferenceRequest as WireRequest,
  InferenceResponse as WireResponse,
  WireError,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { JavaScriptInstance } from "./instance.ts";
import { createJavaScriptInstance } from "./instance.ts";
import { InferenceResponse } from "./model/inference-response.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferenceRequest, Model, ModelArgs, ModelClass, ResponseSender } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";
import type { ModelHost } from "./model-host.ts";

const CONFIG = `max_batch_size: 4
  input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }`;
const DECOUPLED = `${CONFIG} model_transaction_policy { decoupled: true }`;

function request(values: readonly number[], change: Partial<InstanceRequest> = {}): InstanceRequest {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  const input = { kind: "bytes", name: "X", datatype: "FP32", shape: [1, values.length], bytes } as const;
  return { id: "", inputs: [input], outputs: ["Y"], batchSize: 1, parameters: {}, ...change };
}

/** Y = X doubled. */
function doubled(given: InferenceRequest): InferenceResponse {
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

function answerTo({ modelName, id, inputs }: WireRequest): WireResponse {
  return { modelName, modelVersion: "1", id, parameters: { took: 3n }, outputs: inputs };
}

async function bench(modelClass: ModelClass, options: BenchOptions = {}): Promise<Bench> {
  const { config = CONFIG, files = {} } = options;
  const infer = options.infer ?? ((input: WireRequest) => Promise.resolve(answerTo(input)));
  const log: string[] = [];
  const heard: string[] = [];
  const asked: WireRequest[] = [];
  const metrics = createCustomMetrics();
  const host: ModelHost = {
    log: (level, message) => log.push(`${level}: ${message}`),
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

function textOf(outcome: InstanceResponse | InstanceOutcome): string {
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
function model(execute: (requests: readonly InferenceRequest[], args: ModelArgs) => unknown): ModelClass {
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

const FAILED = "INTERNAL Failed to process the request(s) for model 'm_0_0', message: ";

async function textsOf(modelClass: ModelClass, count = 2, options: BenchOptions = {}): Promise<string[]> {
  const { run } = await bench(modelClass, options);
  return (await run(Array.from({ length: count }, (_, index) => request([index])))).map(textOf);
}

describe("a model's execute", () => {
  it("answers each request of a batch with its own response, also where it takes its time", async () => {
    expect(await textsOf(model((requests) => requests.map(doubled)))).toEqual(["Y=0", "Y=2"]);
    expect(await textsOf(model(async (requests) => Promise.resolve(requests.map(doubled))))).toEqual([
      "Y=0",
      "Y=2",
    ]);
  });

  it("may keep using the arrays that it answered with", async () => {
    const kept = new Float32Array([1]);
    const { run } = await bench(
      model(([given]) => {
        kept[0] = (kept[0] ?? 0) + 1;
        return [new InferenceResponse({ outputTensors: [new Tensor("Y", kept, given?.input("X")?.shape)] })];
      }),
    );
    const first = await run([request([0])]);
    const second = await run([request([0])]);
    expect([...first, ...second].map(textOf)).toEqual(["Y=2", "Y=3"]);
  });

  it("loses outputs that nobody asked for", async () => {
    const extra = new Tensor("Z", new Float32Array(1));
    const both = model((requests) =>
      requests.map(
        (given) => new InferenceResponse({ outputTensors: [extra, ...doubled(given).outputTensors] }),
      ),
    );
    const { run } = await bench(both);
    const outcomes = await run([request([1]), request([1], { outputs: [] })]);
    expect(outcomes.map(textOf)).toEqual(["Y=2", ""]);
  });

  it("fails one request alone", async () => {
    const second = model(([first]) => [
      first === undefined ? null : doubled(first),
      new InferenceResponse({ error: new ModelError("no face", "NOT_FOUND") }),
    ]);
    expect(await textsOf(second)).toEqual(["Y=0", "NOT_FOUND no face"]);
  });

  it("fails the whole batch with what it throws", async () => {
    const thrown = `${FAILED}TypeError: no`;
    const throwing = model(() => {
      throw new TypeError("no");
    });
    expect(await textsOf(throwing)).toEqual([thrown, thrown]);
    expect(await textsOf(model(() => Promise.reject(new TypeError("no"))))).toEqual([thrown, thrown]);
  });

  it.each<[string, unknown]>([
    ["Expected a list in the execute return, found type 'number'.", 7],
    ["Expected a list in the execute return, found type 'InferenceResponse'.", new InferenceResponse()],
    [
      "Number of InferenceResponse objects do not match the number of InferenceRequest objects. " +
        "InferenceRequest(s) size is:2, and InferenceResponse(s) size is:1\n",
      [new InferenceResponse()],
    ],
    [
      "Expected an 'InferenceResponse' object in the execute function return list, found type 'string'.",
      [new InferenceResponse(), "Y"],
    ],
  ])("fails the whole batch for a wrong return: %s", async (text, returned) => {
    expect(await textsOf(model(() => returned))).toEqual([FAILED + text, FAILED + text]);
  });

  it("fails a request that nobody answers", async () => {
    const [text] = await textsOf(
      model(() => undefined),
      1,
    );
    expect(text).toContain("has ended without a response, a response sender or a new turn for a request");
  });

  it("names output, expected and given rows where a batch loses some", async () => {
    const single = model(() => [
      new InferenceResponse({ outputTensors: [new Tensor("Y", new Float32Array(1), [1, 1])] }),
    ]);
    const { run } = await bench(single);
    const [outcome] = await run([request([1, 2, 3], { batchSize: 3 })]);
    expect(outcome && textOf(outcome)).toContain("output 'Y' of model 'm' has 1 rows, expected 3");
  });

  it("fails a request that has an output twice", async () => {
    const twice = model(([given]) => {
      const outputTensors = given === undefined ? [] : doubled(given).outputTensors;
      return [new InferenceResponse({ outputTensors: [...outputTensors, ...outputTensors] })];
    });
    expect(await textsOf(twice, 1)).toEqual([`${FAILED}output 'Y' of model 'm' stands twice in a response`]);
  });

  it("sees whole numbers as they are, beyond 2^53 as bigints", async () => {
    const seen: unknown[] = [];
    const { run } = await bench(
      model((requests) =>
        requests.map((given) => {
          seen.push(given.correlationId, given.parameters);
          return doubled(given);
        }),
      ),
    );
    const sequence = { start: true, end: false };
    await run([
      request([1], { sequence: { ...sequence, id: 2n ** 53n - 1n }, parameters: { n: -(2n ** 53n) } }),
      request([1], { sequence: { ...sequence, id: 2n ** 53n + 1n }, parameters: { n: 2n ** 63n - 1n } }),
      request([1], { sequence: { ...sequence, id: "a" } }),
    ]);
    expect(seen).toEqual([2 ** 53 - 1, { n: -(2n ** 53n) }, 2n ** 53n + 1n, { n: 2n ** 63n - 1n }, "a", {}]);
  });

  it("is found missing at the first request, as in Triton", async () => {
    const without = Object as unknown as ModelClass;
    expect(await textsOf(without, 1)).toEqual([
      `${FAILED}JavaScript model 1/model.js does not implement \`execute\` method.`,
    ]);
  });

  it("sees tensors, ids, parameters, sequence and cancellation of a request", async () => {
    const seen: unknown[] = [];
    const gone = new AbortController();
    gone.abort();
    const { run } = await bench(
      model((requests) =>
        requests.map((given) => {
          const { requestId, correlationId, flags, timeout, parameters, requestedOutputNames } = given;
          seen.push({ requestId, correlationId, flags, timeout, parameters, requestedOutputNames });
          seen.push([given.isCancelled(), given.input("nothing")]);
          return doubled(given);
        }),
      ),
    );
    await run(
      [
        request([1], {
          id: "7",
          timeoutUs: 8,
          sequence: { id: 9n, start: true, end: true },
          parameters: { n: 5n, s: "x" },
        }),
      ],
      [gone.signal],
    );
    expect(seen).toEqual([
      {
        requestId: "7",
        correlationId: 9,
        flags: 3,
        timeout: 8,
        parameters: { n: 5, s: "x" },
        requestedOutputNames: ["Y"],
      },
      [true, undefined],
    ]);
  });

  it("answers with parameters, of Triton's kinds alone", async () => {
    const { run } = await bench(
      model(() => [
        new InferenceResponse({ parameters: { a: 1, b: "x", c: true } }),
        new InferenceResponse({ parameters: { a: 0.5 } }),
      ]),
    );
    const [good, bad] = await run([request([1]), request([1])]);
    expect(good).toMatchObject({ kind: "response", parameters: { a: 1n, b: "x", c: true } });
    expect(bad && textOf(bad)).toContain(
      "Expect parameters values to have type bool/int/str, found type 'number'",
    );
  });

  it("asks for a request to be executed again", async () => {
    const again = model((requests) =>
      requests.map((given, index) => {
        if (index === 0) {
          given.setReleaseFlags(2);
          return null;
        }
        return doubled(given);
      }),
    );
    expect(await textsOf(again)).toEqual(["reschedule", "Y=2"]);
    const both = model(([given]) => {
      given?.setReleaseFlags(2);
      return [new InferenceResponse()];
    });
    expect(await textsOf(both, 1)).toEqual([
      `${FAILED}Expected a None object in the execute function return list for reschduled request, found type 'InferenceResponse'.`,
    ]);
  });
});

describe("a response sender of a model that is not decoupled", () => {
  it("sends the one response, also after execute has returned", async () => {
    const late = model((requests) => {
      for (const given of requests) {
        const sender = given.getResponseSender();
        setTimeout(() => void sender.send(doubled(given), 1), 5);
      }
      return null;
    });
    expect(await textsOf(late)).toEqual(["Y=0", "Y=2"]);
  });

  it("keeps what it has finished when execute throws afterwards", async () => {
    const half = model(([first]) => {
      if (first !== undefined) void first.getResponseSender().send(doubled(first), 1);
      throw new Error("then");
    });
    expect(await textsOf(half)).toEqual(["Y=0", `${FAILED}Error: then`]);
  });

  const misuse = (act: (sender: ResponseSender, response: InferenceResponse) => void): ModelClass =>
    model(([given]) => {
      if (given !== undefined) act(given.getResponseSender(), doubled(given));
      return null;
    });

  it.each<[string, Parameters<typeof misuse>[0]]>([
    [
      "Unable to send response. Non-decoupled model cannot send more than one response.",
      (sender, response) => {
        void sender.send(response);
        void sender.send(response);
      },
    ],
    [
      "Unable to send response. Non-decoupled model cannot send complete final before sending a response.",
      (sender) => void sender.send(null, 1),
    ],
    [
      "Unable to send response. Unsupported flag provided.",
      (sender, response) => void sender.send(response, 2),
    ],
    [
      "Inference Response object must be provided when the response flags is set to zero.",
      (sender) => void sender.send(null),
    ],
  ])("refuses: %s", async (text, act) => {
    expect(await textsOf(misuse(act), 1)).toEqual([`${FAILED}ModelError: ${text}`]);
  });

  it("refuses everything after the end", async () => {
    const errors: unknown[] = [];
    const outcomes = await textsOf(
      model(([given]) => {
        if (given === undefined) return null;
        const sender = given.getResponseSender();
        void sender.send(doubled(given), 1);
        for (const response of [null, doubled(given)]) {
          try {
            void sender.send(response, 1);
          } catch (thrown) {
            errors.push(String(thrown));
          }
        }
        return null;
      }),
      1,
    );
    expect(outcomes).toEqual(["Y=0"]);
    expect(errors).toEqual([
      "ModelError: Unable to send response. Response sender has been closed.",
      // That there was one already comes before that it was the last.
      "ModelError: Unable to send response. Non-decoupled model cannot send more than one response.",
    ]);
  });
});

describe("a decoupled model", () => {
  it("sends any number of responses, during execute and after it", async () => {
    const { run, heard } = await bench(
      model(async (requests) => {
        for (const [index, given] of requests.entries()) {
          const sender = given.getResponseSender();
          for (let count = 0; count < index; count += 1) await sender.send(doubled(given));
          await sender.send(index === 0 ? null : doubled(given), 1);
        }
      }),
      { config: DECOUPLED },
    );
    const outcomes = await run([request([1]), request([2])]);
    expect(outcomes.map(textOf)).toEqual(["decoupled", "decoupled"]);
    await expect.poll(() => heard).toEqual(["0: end", "1: Y=4", "1: Y=4 end"]);
  });

  it("may send any number of rows", async () => {
    const { run, heard } = await bench(
      model(([given]) => {
        const two = new Tensor("Y", Float32Array.of(1, 2), [2, 1]);
        void given?.getResponseSender().send(new InferenceResponse({ outputTensors: [two] }), 1);
      }),
      { config: DECOUPLED },
    );
    await run([request([1, 2, 3], { batchSize: 3 })]);
    await expect.poll(() => heard).toEqual(["0: Y=1,2 end"]);
  });

  it("may not return anything", async () => {
    const { run, heard } = await bench(
      model(() => []),
      { config: DECOUPLED },
    );
    await run([request([1])]);
    await expect
      .poll(() => heard)
      .toEqual([
        "0: Failed to process the request(s) for model 'm_0_0', message: JavaScript model 'm' is using the decoupled " +
          "mode and the execute function must return None.",
      ]);
  });

  it("ends with its failure what it has not ended itself", async () => {
    const { run, heard } = await bench(
      model(([first]) => {
        if (first !== undefined) void first.getResponseSender().send(doubled(first), 1);
        throw new Error("then");
      }),
      { config: DECOUPLED },
    );
    await run([request([1]), request([2])]);
    await expect
      .poll(() => heard)
      .toEqual(["0: Y=2 end", "1: Failed to process the request(s) for model 'm_0_0', message: Error: then"]);
  });

  it("ends what it has not even taken up", async () => {
    const { run, heard } = await bench(
      model(([, second]) => {
        const sender = second?.getResponseSender();
        setTimeout(() => void sender?.send(null, 1), 5);
      }),
      { config: DECOUPLED },
    );
    await run([request([1]), request([2])]);
    await expect.poll(() => heard).toEqual([expect.stringContaining("has ended without"), "1: end"]);
  });

  it("streams while it asks to be executed again", async () => {
    const { run, heard } = await bench(
      model(async ([given]) => {
        if (given === undefined) return;
        await given.getResponseSender().send(doubled(given));
        given.setReleaseFlags(2);
      }),
      { config: `${DECOUPLED} sequence_batching { iterative_sequence: true }` },
    );
    expect((await run([request([1])])).map(textOf)).toEqual(["reschedule"]);
    expect(heard).toEqual(["0: Y=2"]);
  });
});

describe("what a model is given", () => {
  it("are Triton's arguments, its files and the log", async () => {
    const seen: unknown[] = [];
    const { log } = await bench(
      class implements Model {
        async initialize(args: ModelArgs): Promise<void> {
          const { modelName, modelVersion, modelInstanceName, modelInstanceKind, modelInstanceDeviceId } =
            args;
          seen.push(modelName, modelVersion, modelInstanceName, modelInstanceKind, modelInstanceDeviceId);
          seen.push((JSON.parse(args.modelConfig) as { readonly max_batch_size: number }).max_batch_size);
          seen.push(await args.files.readText("labels.txt"), await args.files.readJson("1/a.json"));
          await expect(args.files.read("1/b.json")).rejects.toThrow("no file '1/b.json' in the model");
          args.logger.warn("careful");
        }
        execute(): null {
          return null;
        }
      },
      { files: { "labels.txt": "cat", "1/a.json": "[1]" } },
    );
    expect(seen).toEqual(["m", "1", "m_0_0", "CPU", "0", 4, "cat", [1]]);
    expect(log).toEqual(["warning: careful"]);
  });

  it("are metrics of the server's, with Triton's texts for what they cannot do", async () => {
    const texts: string[] = [];
    const values: number[] = [];
    await bench(
      class implements Model {
        async initialize(args: ModelArgs): Promise<void> {
          const counter = await args.metricFamily({ name: "n", description: "N", kind: "counter" });
          const metric = counter.metric({ labels: { a: "1" } });
          metric.increment(2);
          values.push(await metric.value());
          for (const wrong of [
            () => metric.increment(-1),
            () => metric.set(1),
            () => metric.observe(1),
            () => counter.metric({ buckets: [1] }),
          ]) {
            try {
              wrong();
            } catch (thrown) {
              texts.push(thrown instanceof Error ? thrown.message : "");
            }
          }
          await expect(args.metricFamily({ name: "n", description: "", kind: "gauge" })).rejects.toThrow(
            "is there already",
          );
        }
        execute(): null {
          return null;
        }
      },
    );
    expect(values).toEqual([2]);
    expect(texts).toEqual([
      "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.",
      "TRITONSERVER_METRIC_KIND_COUNTER does not support Set",
      "TRITONSERVER_METRIC_KIND_COUNTER does not support Observe",
      "Unexpected buckets found.",
    ]);
  });

  it("fails the load with what initialize throws", async () => {
    const failing = class implements Model {
      initialize(): void {
        throw new RangeError("no weights");
      }
      execute(): null {
        return null;
      }
    };
    const error = (await bench(failing).catch((thrown: unknown) => thrown)) as WireError;
    expect([error.code, error.message]).toEqual(["INTERNAL", "RangeError: no weights"]);
  });
});

describe("requests to other models", () => {
  const asking = (act: (args: ModelArgs, given: InferenceRequest) => Promise<unknown>): ModelClass =>
    model(async ([given], args) => {
      if (given === undefined) return null;
      await act(args, given);
      return [doubled(given)];
    });

  it("come back as responses, several at a time", async () => {
    const seen: unknown[] = [];
    const { run, asked } = await bench(
      asking(async ({ infer }, given) => {
        const tensor = new Tensor("A", [1.5, 2.5], [1, 2], "FP16");
        const responses = await Promise.all([
          infer({
            modelName: "a",
            inputs: [tensor],
            requestedOutputNames: ["B"],
            parameters: { n: 1, d: 0.5 },
          }),
          infer({ modelName: "b", modelVersion: 2, inputs: given.inputs, correlationId: 5, flags: 1 }),
        ]);
        for (const response of responses) seen.push(response.hasError, response.parameters);
        seen.push([...(responses[0].output("A")?.as("FP16") ?? [])]);
      }),
    );
    expect((await run([request([1])])).map(textOf)).toEqual(["Y=2"]);
    expect(seen).toEqual([false, { took: 3 }, false, { took: 3 }, [1.5, 2.5]]);
    expect(asked).toMatchObject([
      { modelName: "a", modelVersion: "", outputs: [{ name: "B" }], parameters: { n: 1n, d: 0.5 } },
      { modelName: "b", modelVersion: "2", sequence: { id: 5n, start: true, end: false } },
    ]);
  });

  it("give what went wrong as a response", async () => {
    const errors: unknown[] = [];
    const { run } = await bench(
      asking(async ({ infer, inferStream }) => {
        const { error } = await infer({ modelName: "gone", inputs: [] });
        errors.push([error instanceof ModelError && error.code, error?.message]);
        for await (const response of inferStream({ modelName: "gone", inputs: [] })) {
          errors.push(response.error?.message);
        }
      }),
      { infer: () => Promise.reject(new InferenceError("NOT_FOUND", "Request for unknown model: 'gone'")) },
    );
    await run([request([1])]);
    expect(errors).toEqual([
      ["NOT_FOUND", "Request for unknown model: 'gone'"],
      "Request for unknown model: 'gone'",
    ]);
  });

  it("stream the responses of a decoupled model", async () => {
    const counts: number[] = [];
    const { run } = await bench(
      asking(async ({ inferStream }, { inputs }) => {
        let count = 0;
        for await (const response of inferStream({ modelName: "many", inputs })) {
          count += response.hasError ? 100 : 1;
        }
        counts.push(count);
      }),
    );
    await run([request([1])]);
    expect(counts).toEqual([2]);
  });

  it("are refused outside of execute, and for what is no request", async () => {
    const texts: string[] = [];
    const note = (thrown: unknown): void => void texts.push(thrown instanceof Error ? thrown.message : "");
    const { run } = await bench(
      class implements Model {
        #args: ModelArgs | undefined;
        async initialize(args: ModelArgs): Promise<void> {
          this.#args = args;
          await args.infer({ modelName: "a", inputs: [] }).catch(note);
        }
        async execute([given]: readonly InferenceRequest[]): Promise<InferenceResponse[]> {
          await this.#args?.infer({ modelName: "", inputs: [] }).catch(note);
          await this.#args?.infer({ modelName: "a", inputs: [1] as unknown as Tensor[] }).catch(note);
          return given === undefined ? [] : [doubled(given)];
        }
      },
    );
    await run([request([1])]);
    expect(texts).toEqual([
      "BLS is only supported during the 'execute' function.",
      "BLS requests need a 'modelName'",
      "Expected a 'Tensor' object in the inputs of a BLS request, found type 'number'",
    ]);
  });

  it.each<[string, object]>([
    [
      "'correlationId' of a BLS request must be a string or a whole number from 0 on, found '1.5'",
      { correlationId: 1.5 },
    ],
    [
      "'correlationId' of a BLS request must be a string or a whole number from 0 on, found '-1'",
      { correlationId: -1n },
    ],
    [
      "'requestedOutputNames' of a BLS request must be a list of strings, found 'OUT'",
      { requestedOutputNames: "OUT" },
    ],
    [
      "'parameters.a' of a BLS request must be a string, a boolean or a finite number, found type 'Object'",
      { parameters: { a: {} } },
    ],
    [
      "'parameters.a' of a BLS request must be a string, a boolean or a finite number, found 'NaN'",
      { parameters: { a: NaN } },
    ],
    ["'parameters' of a BLS request must be an object, found type 'Array'", { parameters: [] }],
    [
      "'timeout' of a BLS request must be a whole number of microseconds from 0 on, found '-1'",
      { timeout: -1 },
    ],
    [
      "'timeout' of a BLS request must be a whole number of microseconds from 0 on, found '1.5'",
      { timeout: 1.5 },
    ],
    ["'priority' of a BLS request must be a whole number from 0 on, found '1.5'", { priority: 1.5 }],
    ["'requestId' of a BLS request must be a string, found '5'", { requestId: 5 }],
    [
      "'modelVersion' of a BLS request must be a string or a whole number, found '1.5'",
      { modelVersion: 1.5 },
    ],
    [
      "'flags' of a BLS request must be made of triton.SEQUENCE_START and triton.SEQUENCE_END, found '4'",
      { flags: 4 },
    ],
    [
      "'signal' of a BLS request must be an AbortSignal, found type 'AbortController'",
      { signal: new AbortController() },
    ],
    ["inputs of BLS requests must be a list, found type 'Object'", { inputs: {} }],
    ["a BLS request has no member 'requestedOutputs'; it has modelName, ", { requestedOutputs: ["OUT"] }],
  ])("are refused with the reason: %s", async (text, change) => {
    const refusals: unknown[] = [];
    const { run, asked } = await bench(
      asking(async ({ infer, inferStream }) => {
        const wrong = { modelName: "a", inputs: [], ...change };
        await infer(wrong).catch((thrown: unknown) => refusals.push(thrown));
        await inferStream(wrong)
          [Symbol.asyncIterator]()
          .next()
          .catch((thrown: unknown) => refusals.push(thrown));
      }),
    );
    await run([request([1])]);
    const refusal = { name: "ModelError", code: "INVALID_ARG", message: expect.stringContaining(text) };
    expect(refusals).toMatchObject([refusal, refusal]);
    expect(asked).toEqual([]);
  });

  it("carry priority and time-out as they are given", async () => {
    const { run, asked } = await bench(
      asking(async ({ infer }) =>
        infer({ modelName: "a", inputs: [], priority: 99, timeout: 7, requestId: "r" }),
      ),
    );
    await run([request([1])]);
    expect(asked).toMatchObject([{ priority: 99, timeoutUs: 7, id: "r" }]);
  });

  it("are given up by their caller's own signal", async () => {
    const gone = new AbortController();
    const signals: AbortSignal[] = [];
    const { run } = await bench(
      asking(async ({ infer, inferStream }) => {
        await infer({ modelName: "a", inputs: [], signal: gone.signal });
        gone.abort();
        await inferStream({ modelName: "a", inputs: [], signal: gone.signal })[Symbol.asyncIterator]().next();
      }),
      {
        infer: (input, signal) => {
          signals.push(signal);
          return Promise.resolve(answerTo(input));
        },
      },
    );
    await run([request([1])]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("are over with the last answer that the model owes", async () => {
    const texts: string[] = [];
    let held: ModelArgs | undefined;
    const ask = async (): Promise<void> => {
      await held?.infer({ modelName: "a", inputs: [] }).then(
        () => texts.push("asked"),
        (thrown: unknown) => texts.push(thrown instanceof Error ? thrown.message : ""),
      );
    };
    const batch = await bench(
      asking((args) => {
        held = args;
        return Promise.resolve();
      }),
    );
    await batch.run([request([1])]);
    await ask();
    const senders: ResponseSender[] = [];
    const decoupled = await bench(
      model((requests, args) => {
        held = args;
        senders.push(...requests.map((given) => given.getResponseSender()));
      }),
      { config: DECOUPLED },
    );
    await decoupled.run([request([1]), request([2])]);
    for (const sender of senders) {
      await ask();
      await sender.send(null, 1);
    }
    await ask();
    const refused = "BLS is only supported during the 'execute' function.";
    expect(texts).toEqual([refused, "asked", "asked", refused]);
  });

  it("load and unload models at any time", async () => {
    const { log } = await bench(
      class implements Model {
        async initialize({ loadModel, unloadModel, isModelReady, logger }: ModelArgs): Promise<void> {
          await loadModel("a");
          await unloadModel("a");
          logger.info(`${String(await isModelReady("there"))} ${String(await isModelReady("not there"))}`);
        }
        execute(): null {
          return null;
        }
      },
    );
    expect(log).toEqual(["load a", "unload a", "info: true false"]);
  });

  it("are given up when the model is released", async () => {
    const signals: AbortSignal[] = [];
    const { run, instance } = await bench(
      asking(async ({ infer }) => infer({ modelName: "slow", inputs: [] })),
      {
        infer: (_request, signal) =>
          new Promise((_resolve, reject) => {
            signals.push(signal);
            signal.addEventListener("abort", () => {
              reject(new InferenceError("CANCELLED", "given up"));
            });
          }),
      },
    );
    const running = run([request([1])]);
    await expect.poll(() => signals.length).toBe(1);
    await instance.release();
    expect((await running).map(textOf)).toEqual(["Y=2"]);
  });
});

describe("readiness and the end", () => {
  const saying = (isReady: unknown): ModelClass =>
    class {
      isReady(): boolean {
        return isReady as boolean;
      }
      execute(): null {
        return null;
      }
    };

  it("is the model's own word", async () => {
    const check = async (isReady: unknown): Promise<void> =>
      (await bench(saying(isReady))).instance.checkReady();
    await expect(check(true)).resolves.toBeUndefined();
    await expect(check(Promise.resolve(true))).resolves.toBeUndefined();
    await expect(check(false)).rejects.toThrow("Model 'm_0_0' is not ready (user-defined check failed).");
    await expect(check(1)).rejects.toThrow("isReady() must return a boolean value");
  });

  it("logs what finalize throws", async () => {
    const { instance, log } = await bench(
      class {
        finalize(): void {
          throw new Error("late");
        }
        execute(): null {
          return null;
        }
      },
    );
    await instance.release();
    expect(log).toEqual(["error: finalize of 'm_0_0' failed: Error: late"]);
  });
});
