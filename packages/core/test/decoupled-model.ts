import type { FakeAnswer, FakeStep, SchedulerFixture, SentRequest } from "@naiad/testing";
import { createSchedulerFixture } from "@naiad/testing";

export const MODEL = `
  name: "m" backend: "fake" max_batch_size: 4
  input { name: "x" data_type: TYPE_FP32 dims: [1] }
  output { name: "y" data_type: TYPE_FP32 dims: [1] }
  model_transaction_policy { decoupled: true }`;
export const SCHEDULERS = {
  default: MODEL,
  dynamic: `${MODEL} dynamic_batching {}`,
  direct: `${MODEL} sequence_batching { direct {} }`,
  oldest: `${MODEL} sequence_batching { oldest { max_candidate_sequences: 4 } }`,
};
export const MS = 1e6;

export const RESPONSE = (value: number, afterNs = 0): FakeStep => ({ kind: "response", value, afterNs });
export const END: FakeStep = { kind: "end" };

export async function start(config: string, answer: FakeAnswer | (() => FakeAnswer), instances = 1) {
  const fixture = await createSchedulerFixture({
    config,
    instances,
    onExecute: typeof answer === "function" ? answer : () => answer,
  });
  let sequences = 0n;
  const send = (options: Parameters<SchedulerFixture["send"]>[0] = {}): SentRequest => {
    sequences += 1n;
    const isSequence = config.includes("sequence_batching");
    return fixture.send({
      ...(isSequence && { sequence: { id: sequences, start: true, end: true } }),
      ...options,
    });
  };
  return { ...fixture, send };
}

/** The numbers of the responses and the codes of their errors. */
export function values({ responses }: SentRequest): readonly (number | string | undefined)[] {
  return responses.map((response) => {
    if (response.kind === "error") return response.error.code;
    const [output] = response.outputs;
    return output?.kind === "bytes" ? new Float32Array(output.bytes.slice().buffer)[0] : undefined;
  });
}
