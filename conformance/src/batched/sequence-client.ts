import type { ExchangeHandler } from "@naiad/protocol";
import { sendOk, textOf } from "../http-client.ts";
import { binaryInferRequest, readInferResponse } from "../v2-http.ts";
import type { V2Tensor } from "../v2-tensor.ts";

/** One sequence of requests to a model, each sent when the one before is answered. */
export interface SequenceClient {
  /** The first call starts the sequence. */
  step(inputs: readonly V2Tensor[], options?: { readonly last?: boolean }): Promise<readonly V2Tensor[]>;
}

let sequences = 0;

export function openSequence(handle: ExchangeHandler, modelName: string): SequenceClient {
  const sequenceId = (sequences += 1);
  let started = false;
  return {
    async step(inputs, { last = false } = {}) {
      const request = binaryInferRequest(inputs, {
        sequence_id: sequenceId,
        sequence_start: !started,
        sequence_end: last,
      });
      started = true;
      return readInferResponse(await sendOk(handle, "POST", `/v2/models/${modelName}/infer`, request));
    },
  };
}

export interface ExecutionCounts {
  readonly inferences: number;
  readonly executions: number;
}

/** How many requests the model has answered and in how many executions while `work` ran. */
export async function countExecutions(
  handle: ExchangeHandler,
  modelName: string,
  work: () => Promise<void>,
): Promise<ExecutionCounts> {
  const before = await counts(handle, modelName);
  await work();
  const after = await counts(handle, modelName);
  return {
    inferences: after.inferences - before.inferences,
    executions: after.executions - before.executions,
  };
}

async function counts(handle: ExchangeHandler, modelName: string): Promise<ExecutionCounts> {
  const answer = await sendOk(handle, "GET", `/v2/models/${modelName}/stats`);
  const { model_stats } = JSON.parse(textOf(answer)) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  const [version] = model_stats;
  if (version === undefined) throw new Error(`no statistics of ${modelName}`);
  return { inferences: version.inference_count, executions: version.execution_count };
}
