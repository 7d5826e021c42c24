import type { ModelSignature } from "@naiad/model-config";
import { modelSignature, parseConfigText } from "@naiad/model-config";
import type { Parameters, SequenceFlags, Tensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import type { IssuedStep, StepResponse } from "./ensemble-state.ts";
import { stepRequest, stepResponse } from "./step-request.ts";

const signature: ModelSignature = modelSignature(
  parseConfigText(
    `name: "m" max_batch_size: 4
    input { name: "I" data_type: TYPE_INT32 dims: [1] }
    output { name: "O" data_type: TYPE_INT32 dims: [1] }`,
    { fileName: "m" },
  ),
);
const model = { modelName: "m", signature };
const rows = (count: number, name = "t"): Tensor => ({
  kind: "bytes",
  name,
  datatype: "INT32",
  shape: [count, 1],
  bytes: new Uint8Array(4 * count),
});

interface StepText {
  readonly sequence?: SequenceFlags;
  readonly decoupled?: boolean;
}

const issuedStep = ({ sequence, decoupled = false }: StepText = {}): IssuedStep => ({
  id: 0,
  step: {
    index: 2,
    modelName: "m",
    modelVersion: undefined,
    inputs: [{ name: "I", tensor: "t" }],
    outputs: [{ name: "O", tensor: "u" }],
    decoupled,
  },
  iteration: 0,
  inputs: new Map([["I", { tensor: rows(2), batchSize: 2, sequence }]]),
  sequence,
});

const request = (sequence?: SequenceFlags): ValidRequest => ({
  id: "r",
  inputs: [],
  outputs: ["y"],
  batchSize: 2,
  parameters: { colour: "red" },
  ...(sequence !== undefined && { sequence }),
  priority: 3,
  timeoutUs: 5000,
});

const flags = (id: bigint | string, start = false, end = false): SequenceFlags => ({ id, start, end });

describe("stepRequest", () => {
  it("says what the request of the ensemble says, with the tensors under the names of the model", () => {
    expect(stepRequest(issuedStep(), request(flags(7n, true)), { model, keepOnDevice: ["O"] })).toMatchObject(
      {
        id: "r",
        inputs: [{ name: "I", shape: [2, 1] }],
        outputs: ["O"],
        batchSize: 2,
        parameters: { colour: "red" },
        sequence: { id: 7n, start: true, end: false },
        priority: 3,
        timeoutUs: 5000,
        keepOnDevice: ["O"],
      },
    );
  });

  it.each<[string, SequenceFlags | undefined, SequenceFlags | undefined, SequenceFlags | undefined]>([
    ["none", undefined, undefined, undefined],
    ["that of the request", undefined, flags(7n), flags(7n)],
    ["what the step before it told", flags("a", true), flags(7n), flags("a", true)],
    ["none, where the step before it told of 0", flags(0n), undefined, undefined],
    ['none, where the step before it told of ""', flags(""), flags(7n), undefined],
    ["flags without an id", flags(0n, true), undefined, flags(0n, true)],
  ])("has of a sequence: %s", (_what, told, asked, expected) => {
    const made = stepRequest(issuedStep(told === undefined ? {} : { sequence: told }), request(asked), {
      model,
      keepOnDevice: [],
    });
    expect(made.sequence).toEqual(expected);
  });
});

describe("stepResponse", () => {
  const read = (outputRows: number, parameters: Parameters, step: StepText = {}): StepResponse =>
    stepResponse({ outputs: [rows(outputRows, "O")], parameters }, issuedStep(step), { batchSize: 2, model });

  it("refuses another number of rows than were asked, with step, expected and got", () => {
    expect(() => read(1, {})).toThrow(
      "step 2 of model 'm' answered a batch of 2 with an output 'O' of shape [1,1]: expected batch dimension 2, got 1",
    );
  });

  it("takes any number of rows of a decoupled model", () => {
    expect(read(3, {}, { decoupled: true }).outputs.get("O")?.shape).toEqual([3, 1]);
  });

  it.each<[string, Parameters, SequenceFlags | undefined]>([
    ["what it was asked with, where it says nothing", {}, flags(7n, true)],
    ["what it says", { sequence_id: "a", sequence_end: true }, flags("a", false, true)],
    ["flags for the id that it was asked with", { sequence_end: true }, flags(7n, false, true)],
    ["that there is none", { sequence_id: 0n }, flags(0n)],
  ])("tells of the sequence: %s", (_what, parameters, expected) => {
    expect(read(2, parameters, { sequence: flags(7n, true) }).sequence).toEqual(expected);
  });

  it.each<[Parameters, string]>([
    [{ sequence_id: true }, "expected parameter 'sequence_id' to be"],
    [{ sequence_start: "yes" }, "expect parameter 'sequence_start' to be TRITONSERVER_PARAMETER_BOOL"],
    [{ sequence_end: 1n }, "expect parameter 'sequence_end' to be TRITONSERVER_PARAMETER_BOOL"],
  ])("refuses %o", (parameters, text) => {
    expect(() => read(2, parameters)).toThrow(text);
  });
});
