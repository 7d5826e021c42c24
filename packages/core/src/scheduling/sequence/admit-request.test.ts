import { InferenceError } from "@naiad/protocol";
import type { SequenceFlags } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ValidRequest } from "../scheduler.ts";
import type { AdmissionContext } from "./admit-request.ts";
import { admitRequest } from "./admit-request.ts";

function request(sequence?: Partial<SequenceFlags>, batchSize = 1): ValidRequest {
  return {
    id: "r",
    inputs: [],
    outputs: ["y"],
    batchSize,
    parameters: {},
    priority: 0,
    timeoutUs: 0,
    ...(sequence === undefined ? {} : { sequence: { id: 0n, start: false, end: false, ...sequence } }),
  };
}

const CONTEXT: AdmissionContext = {
  modelName: "m",
  maxBatchSize: 4,
  correlationId: undefined,
  isIterative: false,
  isStopped: false,
  isKnown: (id) => id === 5n || id === "five",
  endingOf: () => undefined,
};

function admitted(asked: ValidRequest, context: Partial<AdmissionContext> = {}): string {
  try {
    const admission = admitRequest(asked, { ...CONTEXT, ...context });
    return admission.kind === "generated" ? "generated" : `${admission.kind} ${admission.id}`;
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    return `${code} ${message}`;
  }
}

const NO_ID =
  "INVALID_ARG [request id: r] inference request to model 'm' must specify a non-zero or non-empty correlation ID";
const ROWS =
  "INVALID_ARG inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher";
const STOPPING =
  "UNAVAILABLE [request id: r] Server is stopping, scheduler for model has stopped accepting new inference requests";
const START = (id: string): string =>
  `INVALID_ARG inference request for sequence ${id} to model 'm' must specify the START flag on the first request of ` +
  "the sequence";
const wants = (datatype: "UINT64" | "INT32" | "BYTES"): Partial<AdmissionContext> => ({
  correlationId: { name: "C", datatype },
});
const mismatch = (given: string, expected: string): string =>
  `INVALID_ARG [request id: r] sequence batching control 'C' data-type is '${given}', but model 'm' expects '${expected}'`;

describe("admitRequest", () => {
  it.each<[string, ValidRequest, Partial<AdmissionContext>, string]>([
    ["a new sequence", request({ id: 1n, start: true }), {}, "start 1"],
    ["a new sequence of a known id", request({ id: 5n, start: true }), {}, "start 5"],
    ["a known sequence", request({ id: 5n }), {}, "continue 5"],
    ["a known sequence with a text for an id", request({ id: "five", end: true }), {}, "continue five"],
    ["the same digits as a text", request({ id: "5" }), {}, START("5")],
    ["an unknown sequence", request({ id: 1n }), {}, START("1")],
    ["an unknown sequence that ends", request({ id: "x", end: true }), {}, START("x")],
    ["no id", request(), {}, NO_ID],
    ["id 0", request({ start: true }), {}, NO_ID],
    ["an empty id", request({ id: "", start: true }), {}, NO_ID],
    ["several rows", request({ id: 1n, start: true }, 2), {}, ROWS],
    ["no rows", request({ id: 1n, start: true }, 0), {}, ROWS],
    ["a model without batching", request({ id: 1n, start: true }, 0), { maxBatchSize: 0 }, "start 1"],
    ["rows and no id", request(undefined, 2), {}, ROWS],
    [
      "a text where a number is wanted",
      request({ id: "a", start: true }),
      wants("UINT64"),
      mismatch("BYTES", "UINT64"),
    ],
    [
      "a text where 32 bits are wanted",
      request({ id: "a", start: true }),
      wants("INT32"),
      mismatch("BYTES", "INT32"),
    ],
    [
      "a number where a text is wanted",
      request({ id: 1n, start: true }),
      wants("BYTES"),
      mismatch("UINT64", "BYTES"),
    ],
    ["a text where one is wanted", request({ id: "a", start: true }), wants("BYTES"), "start a"],
    ["no id where a text is wanted", request({ start: true }), wants("BYTES"), NO_ID],
    ["a new sequence at the end", request({ id: 1n, start: true }), { isStopped: true }, STOPPING],
    ["a known sequence at the end", request({ id: 5n }), { isStopped: true }, "continue 5"],
    ["an unknown sequence at the end", request({ id: 1n }), { isStopped: true }, START("1")],
    ["no id for an iterative model", request(), { isIterative: true }, "generated"],
    ["no id for an iterative model at the end", request(), { isIterative: true, isStopped: true }, STOPPING],
    ["an id for an iterative model", request({ id: 1n }), { isIterative: true }, START("1")],
  ])("%s", (_name, asked, context, expected) => {
    expect(admitted(asked, context)).toBe(expected);
  });

  it("says why a sequence is over, behind Triton's text", () => {
    expect(admitted(request({ id: 1n }), { endingOf: () => "it was idle" })).toBe(
      `${START("1")} (the sequence of this id ended: it was idle)`,
    );
  });
});
