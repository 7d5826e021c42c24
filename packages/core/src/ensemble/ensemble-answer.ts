import type { ModelSignature } from "@naiad/model-config";
import type { Tensor } from "@naiad/protocol";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import { adjustBatch } from "./adjust-batch.ts";
import type { EnsembleTensor } from "./ensemble-state.ts";
import type { ModelResponse } from "./step-request.ts";

/** An absent output is left out. As Triton's, it tells of the sequence of its steps even where there is none. */
export function ensembleAnswer(
  answer: ReadonlyMap<string, EnsembleTensor>,
  request: ValidRequest,
  { outputs: declared, maxBatchSize }: ModelSignature,
): ModelResponse {
  const outputs: Tensor[] = [];
  let sequence = request.sequence;
  for (const [name, { tensor, batchSize, sequence: told }] of answer) {
    sequence = told ?? sequence;
    if (tensor === undefined) continue;
    const output = declared.find((candidate) => candidate.name === name);
    const reader = { dims: output?.reshape ?? output?.dims ?? [], batches: maxBatchSize > 0 };
    outputs.push({ ...adjustBatch(tensor, batchSize, reader), name });
  }
  const { id = 0n, start = false, end = false } = sequence ?? {};
  return { outputs, parameters: { sequence_id: id, sequence_start: start, sequence_end: end } };
}
