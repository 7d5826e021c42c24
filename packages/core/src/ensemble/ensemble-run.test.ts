import { modelSignature, parseConfigText } from "@naiad/model-config";
import type { Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { createCollectingLogger, createFakeClock, fakeServing } from "@naiad/testing";
import { expect, it } from "vitest";
import type { ScheduledRequest, StreamedResponse } from "../scheduling/scheduler.ts";
import type { EnsemblePlan } from "./ensemble-plan.ts";
import type { EnsembleResult } from "./ensemble-run.ts";
import { runEnsemble } from "./ensemble-run.ts";
import { createStepSlots } from "./step-slots.ts";

const TENSORS = `
  input { name: "x" data_type: TYPE_INT32 dims: [1] }
  output { name: "y" data_type: TYPE_INT32 dims: [1] }`;
const signature = modelSignature(parseConfigText(`name: "m" ${TENSORS}`, { fileName: "m" }));
const ONE_STEP: EnsemblePlan = {
  ensembleName: "e",
  steps: [
    {
      index: 0,
      modelName: "m",
      modelVersion: undefined,
      inputs: [{ name: "x", tensor: "x" }],
      outputs: [{ name: "y", tensor: "y" }],
      decoupled: true,
    },
  ],
  optionalInputs: [],
  decoupled: true,
  maxInflightRequests: 0,
  labelSources: new Map(),
};
const number = (name: string, value: number): Tensor => ({
  kind: "bytes",
  name,
  datatype: "INT32",
  shape: [1],
  bytes: new Uint8Array(Int32Array.of(value).buffer),
});
const valueOf = (response: StreamedResponse): number | undefined => {
  const [output] = response.kind === "response" ? response.outputs : [];
  return output?.kind === "bytes" ? output.bytes[0] : undefined;
};

/** One request to `e`, whose only step is decoupled and answered by the test. */
function setUp() {
  const clock = createFakeClock();
  const slots = createStepSlots({ ...ONE_STEP, clock, logger: createCollectingLogger() });
  const aborting = new AbortController();
  const asked: ScheduledRequest[] = [];
  const sent: (number | undefined)[] = [];
  const results: EnsembleResult[] = [];
  let makeRoom = (): void => undefined;
  const scheduler = {
    inflightCount: 0,
    enqueue: (inner: ScheduledRequest) => {
      asked.push(inner);
    },
    stop: () => Promise.resolve(),
  };
  runEnsemble(
    {
      request: {
        id: "",
        inputs: [number("x", 1)],
        outputs: ["y"],
        batchSize: 0,
        parameters: {},
        priority: 0,
        timeoutUs: 0,
      },
      signal: aborting.signal,
      startNs: 0,
      onResponse: (response) => {
        sent.push(valueOf(response));
        return new Promise((resolve) => {
          makeRoom = resolve;
        });
      },
      respond: () => undefined,
    },
    { plan: ONE_STEP, signature, find: () => ({ ...fakeServing(1), signature, scheduler }), slots, clock },
    (result) => {
      results.push(result);
    },
  );
  const [step] = asked;
  if (step?.onResponse === undefined) throw new Error("the step was not issued");
  const { onResponse, respond } = step;
  return {
    clock,
    aborting,
    sent,
    results,
    respond,
    answer: (value: number) =>
      void onResponse({ kind: "response", outputs: [number("y", value)], parameters: {} }),
    makeRoom: () => {
      makeRoom();
    },
  };
}

const TIMES = { queueNs: 0, computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };

it("ends when its reader has had everything", async () => {
  const { clock, sent, results, respond, answer, makeRoom } = setUp();
  answer(1);
  answer(2);
  respond({ kind: "end", times: TIMES });
  await clock.settle();
  expect([sent, results]).toEqual([[1], []]);
  makeRoom();
  await clock.settle();
  makeRoom();
  await clock.settle();
  expect(sent).toEqual([1, 2]);
  expect(results).toMatchObject([{ kind: "answered" }]);
});

it("ends at once for a reader that has gone, and sends nothing more", async () => {
  const { clock, aborting, sent, results, respond, answer, makeRoom } = setUp();
  answer(1);
  answer(2);
  await clock.settle();
  aborting.abort();
  respond({ kind: "error", error: new InferenceError("CANCELLED", "gone"), reason: "CANCELED" });
  expect(results).toMatchObject([{ kind: "error", error: { message: "in ensemble 'e', gone" } }]);
  makeRoom();
  await clock.settle();
  expect(sent).toEqual([1]);
});
