import { modelSignature, parseConfigText } from "@naiad/model-config";
import type { Parameters, SequenceFlags, Tensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import { ensembleAnswer } from "./ensemble-answer.ts";
import type { EnsembleTensor } from "./ensemble-state.ts";

const signature = modelSignature(
  parseConfigText(
    `name: "e"
    output { name: "y" data_type: TYPE_INT32 dims: [1] }
    output { name: "z" data_type: TYPE_INT32 dims: [1] }`,
    { fileName: "e" },
  ),
);
const tensor: Tensor = {
  kind: "bytes",
  name: "O",
  datatype: "INT32",
  shape: [1, 1],
  bytes: new Uint8Array(4),
};

function answerTo(
  sequence: SequenceFlags | undefined,
  tensors: Readonly<Record<string, Partial<EnsembleTensor>>>,
): { readonly shapes: Readonly<Record<string, readonly number[]>>; readonly parameters: Parameters } {
  const request: ValidRequest = {
    id: "",
    inputs: [],
    outputs: [],
    batchSize: 0,
    parameters: {},
    ...(sequence !== undefined && { sequence }),
    priority: 0,
    timeoutUs: 0,
  };
  const answer = new Map(
    Object.entries(tensors).map(([name, given]): [string, EnsembleTensor] => [
      name,
      { tensor, batchSize: 1, sequence: undefined, ...given },
    ]),
  );
  const { outputs, parameters } = ensembleAnswer(answer, request, signature);
  return { shapes: Object.fromEntries(outputs.map(({ name, shape }) => [name, shape])), parameters };
}

describe("the answer of an ensemble", () => {
  it("has its own names, without the batch dimension that only the model has, and nothing that is absent", () => {
    expect(answerTo(undefined, { y: {}, z: { tensor: undefined } }).shapes).toEqual({ y: [1] });
  });

  it.each<[string, SequenceFlags | undefined, SequenceFlags | undefined, Parameters]>([
    ["none", undefined, undefined, { sequence_id: 0n, sequence_start: false, sequence_end: false }],
    [
      "that of the request",
      { id: 7n, start: true, end: false },
      undefined,
      { sequence_id: 7n, sequence_start: true, sequence_end: false },
    ],
    [
      "what its last step told, before what the request says",
      { id: 7n, start: true, end: false },
      { id: "a", start: false, end: true },
      { sequence_id: "a", sequence_start: false, sequence_end: true },
    ],
  ])("tells of the sequence: %s", (_what, asked, told, parameters) => {
    expect(answerTo(asked, { y: { sequence: told }, z: {} }).parameters).toEqual(parameters);
  });
});
