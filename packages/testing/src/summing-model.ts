import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { Tensor } from "@naiad/protocol";
import { typedElements } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution } from "./fake-answer.ts";

/**
 * The configuration of a model with one state: `y` is the sum of all inputs `x` of the sequence so far, and so is the
 * state. Its controls are START, END, READY (INT32) and ID (UINT64). `rest` is the rest of the configuration,
 * `sequences` that of `sequence_batching`.
 */
export function summingConfig({
  maxBatchSize = 4,
  rest = "",
  sequences = "",
}: {
  readonly maxBatchSize?: number;
  readonly rest?: string;
  readonly sequences?: string;
} = {}): string {
  const flag = (name: string): string =>
    `control_input { name: "${name}" control { kind: CONTROL_SEQUENCE_${name} int32_false_true: [0, 1] } }`;
  return `name: "m" max_batch_size: ${maxBatchSize} ${rest}
    input { name: "x" data_type: TYPE_FP32 dims: [1] }
    output { name: "y" data_type: TYPE_FP32 dims: [1] }
    sequence_batching {
      ${flag("START")} ${flag("END")} ${flag("READY")}
      control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
      state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [1] }
      ${sequences}
    }`;
}

/** What that model answers. */
export function sumAnswer(
  { requests }: Pick<FakeExecution, "requests">,
  latencyNs?: number,
): Extract<FakeAnswer, { readonly kind: "complete" }> {
  const outcomes = requests.map(sumOutcome);
  return { kind: "complete", outcomes, ...(latencyNs === undefined ? {} : { latencyNs }) };
}

export function sumOutcome(
  request: InstanceRequest,
): Extract<InstanceOutcome, { readonly kind: "response" }> {
  const sum = Float32Array.of(firstElement(request.inputs, "x") + firstElement(request.inputs, "s"));
  const outputs = request.outputs.map((name): Tensor => {
    const shape = request.batchSize > 0 ? [1, 1] : [1];
    return { kind: "bytes", name, datatype: "FP32", shape, bytes: new Uint8Array(sum.buffer.slice(0)) };
  });
  return { kind: "response", outputs, parameters: {} };
}

/** Of a tensor of numbers; NaN where there is none of this name. */
export function firstElement(tensors: readonly Tensor[], name: string): number {
  const tensor = tensors.find((candidate) => candidate.name === name);
  if (tensor?.kind !== "bytes" || tensor.datatype === "BYTES") return Number.NaN;
  return Number(typedElements(tensor.datatype, tensor.bytes)[0] ?? Number.NaN);
}
