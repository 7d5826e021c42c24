import { describe, expect, it } from "vitest";
import { bench, doubled, FAILED, model, request, textOf, textsOf } from "../test/model-bench.ts";
import { InferenceResponse } from "./model/inference-response.ts";
import { ModelError } from "./model/model-error.ts";
import type { ModelClass } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";

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
