import type { ExecuteContext, ExecutionResult, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { BytesTensor, DeviceTensor, Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

export interface ForeignTensorsOptions {
  /** In whose device memory the instance reads by itself; `undefined`: in none. */
  readonly worker: string | undefined;
  readonly read: (tensor: DeviceTensor) => Promise<Uint8Array>;
  /** `indices`: which of the requests that were given these are. */
  readonly execute: (
    requests: readonly InstanceRequest[],
    indices: readonly number[],
  ) => Promise<ExecutionResult>;
}

export function readsForeignTensors(
  requests: readonly InstanceRequest[],
  worker: string | undefined,
): boolean {
  return requests.some(({ inputs }) => inputs.some((input) => isForeign(input, worker)));
}

/**
 * Executes with as bytes what lies in the device memory of other workers. A request whose tensor cannot be read there ends
 * with that error; the others are executed without it.
 */
export async function executeForeign(
  requests: readonly InstanceRequest[],
  { worker, read, execute }: ForeignTensorsOptions,
): Promise<ExecutionResult> {
  const outcomes = new Map<number, InstanceOutcome>();
  const readable: { readonly index: number; readonly request: InstanceRequest }[] = [];
  let readbacks = 0;
  const asBytes = async (input: Tensor): Promise<Tensor> => {
    if (!isForeign(input, worker)) return input;
    const { name, datatype, shape } = input;
    const tensor: BytesTensor = { kind: "bytes", name, datatype, shape, bytes: await read(input) };
    readbacks += 1;
    return tensor;
  };
  const prepare = async (request: InstanceRequest, index: number): Promise<void> => {
    try {
      const inputs = await Promise.all(request.inputs.map(asBytes));
      readable.push({ index, request: { ...request, inputs } });
    } catch (thrown) {
      outcomes.set(index, { kind: "error", error: lostInput(thrown) });
    }
  };
  await Promise.all(requests.map(prepare));
  readable.sort((one, other) => one.index - other.index);
  const result: ExecutionResult =
    readable.length === 0
      ? {
          kind: "completed",
          outcomes: [],
          times: { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 },
        }
      : await execute(
          readable.map(({ request }) => request),
          readable.map(({ index }) => index),
        );
  if (result.kind === "lost") return result;
  for (const [position, { index }] of readable.entries()) {
    const outcome = result.outcomes[position];
    if (outcome !== undefined) outcomes.set(index, outcome);
  }
  return {
    ...result,
    outcomes: requests.flatMap((_, index) => outcomes.get(index) ?? []),
    readbacks: (result.readbacks ?? 0) + readbacks,
  };
}

/** What an execution of some requests of another one hears and says. */
export function contextOfSome(
  { responses, signals }: ExecuteContext,
  indices: readonly number[],
): ExecuteContext {
  return {
    responses: {
      response: (index, response, flags) => responses.response(indices[index] ?? index, response, flags),
      end: (index, error) => {
        responses.end(indices[index] ?? index, error);
      },
    },
    signals: indices.flatMap((index) => signals[index] ?? []),
  };
}

function isForeign(input: Tensor, worker: string | undefined): input is DeviceTensor {
  return input.kind === "device" && input.worker !== worker;
}

function lostInput(thrown: unknown): { readonly code: "UNAVAILABLE"; readonly message: string } {
  const { message } = InferenceError.from(thrown);
  return {
    code: "UNAVAILABLE",
    message: `an input lay on a GPU and could not be read from there: ${message}`,
  };
}
