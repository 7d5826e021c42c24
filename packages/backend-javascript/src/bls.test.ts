import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { answerTo, bench, DECOUPLED, doubled, model, request, textOf } from "../test/model-bench.ts";
import type { InferenceResponse } from "./model/inference-response.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferenceRequest, Model, ModelArgs, ModelClass, ResponseSender } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";

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
