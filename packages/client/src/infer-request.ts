import type {
  InferenceRequest,
  Parameters,
  ParameterValue,
  RequestedOutput,
  SequenceFlags,
} from "@naiad/protocol";
import { checkCustomParameters } from "@naiad/protocol";
import type { InferInput } from "./infer-values.ts";
import { tensorOf } from "./infer-values.ts";

/** An inference as its caller writes it. */
export interface InferCall {
  readonly modelName: string;
  /** Absent: the version that the model's policy chooses. */
  readonly modelVersion?: string;
  readonly inputs: Readonly<Record<string, InferInput>>;
  /** Names, or names with the number of best classes wanted. Absent or empty: all outputs. */
  readonly outputs?: readonly (string | RequestedOutput)[];
  /** Comes back in the result. */
  readonly id?: string;
  /** A number with an integral value travels as an integer, any other as a double. */
  readonly parameters?: Parameters;
  readonly priority?: number;
  readonly timeoutUs?: number;
  readonly sequence?: SequenceCall;
  /**
   * Gives the buffers of all typed arrays away: they are detached instead of copied where the transport can do that, and a
   * call whose host is lost is not repeated. A view gives away its whole buffer.
   */
  readonly transfer?: boolean;
}

export interface SequenceCall {
  /** 0 and "" mean that the request belongs to no sequence. */
  readonly id: string | number | bigint;
  readonly start?: boolean;
  readonly end?: boolean;
}

export interface PreparedInfer {
  readonly request: InferenceRequest;
  /** Buffers that the caller gave away, each once. */
  readonly transfer: readonly ArrayBuffer[];
}

/** Throws INVALID_ARG for what no server would take. Tensors are views on the caller's typed arrays. */
export function prepareInfer(call: InferCall): PreparedInfer {
  const { modelName, modelVersion = "", id = "", outputs = [], priority, timeoutUs } = call;
  const sequence = call.sequence && sequenceFlags(call.sequence);
  const request: InferenceRequest = {
    modelName,
    modelVersion,
    id,
    parameters: customParameters(call.parameters ?? {}),
    ...(sequence && { sequence }),
    ...(priority !== undefined && { priority }),
    ...(timeoutUs !== undefined && { timeoutUs }),
    inputs: Object.entries(call.inputs).map(([name, input]) => tensorOf(name, input)),
    outputs: outputs.map((output) => (typeof output === "string" ? { name: output } : output)),
  };
  return { request, transfer: call.transfer === true ? givenBuffers(call.inputs) : [] };
}

function customParameters(parameters: Parameters): Parameters {
  checkCustomParameters(parameters);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, exactParameter(value)]));
}

function exactParameter(value: ParameterValue): ParameterValue {
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}

function sequenceFlags({ id, start = false, end = false }: SequenceCall): SequenceFlags | undefined {
  if (id === "" || id === 0 || id === 0n) return undefined;
  return { id: typeof id === "number" ? BigInt(id) : id, start, end };
}

function givenBuffers(inputs: Readonly<Record<string, InferInput>>): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { data } of Object.values(inputs)) {
    // Shared memory has no owner who could give it away.
    if (ArrayBuffer.isView(data) && data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  }
  return [...buffers];
}
