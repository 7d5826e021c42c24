import type {
  InferenceRequest,
  Parameters,
  ParameterValue,
  RequestedOutput,
  SequenceFlags,
  TensorContent,
} from "@naiad/protocol";
import { InferenceError, checkCustomParameters, optionText, tensorOf } from "@naiad/protocol";

/** An inference as its caller writes it. */
export interface InferCall {
  readonly modelName: string;
  /** Absent: the version that the model's policy chooses. */
  readonly modelVersion?: string;
  readonly inputs: Readonly<Record<string, TensorContent>>;
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
  checkCall(call);
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

const OPTIONS: Readonly<Record<keyof InferCall, true>> = {
  modelName: true,
  modelVersion: true,
  inputs: true,
  outputs: true,
  id: true,
  parameters: true,
  priority: true,
  timeoutUs: true,
  sequence: true,
  transfer: true,
};

/** For callers that no type checker has seen: the members without which nothing can be sent, and those that say nothing. */
function checkCall(call: unknown): void {
  const options = objectOf(call, "infer needs an object of { modelName, inputs }");
  for (const name of Object.keys(options)) if (!Object.hasOwn(OPTIONS, name)) throw unknownOption(name);
  const { modelName, inputs } = options;
  if (typeof modelName !== "string") throw invalid("infer needs the option 'modelName': a string", modelName);
  for (const [name, input] of Object.entries(
    objectOf(inputs, "infer needs the option 'inputs': an object"),
  )) {
    const { data } = objectOf(input, `input '${name}' must be an object with 'data'`);
    if (Array.isArray(data) || ArrayBuffer.isView(data)) continue;
    throw invalid(`the data of input '${name}' must be a typed array or an array`, data);
  }
}

function unknownOption(name: string): InferenceError {
  const hint =
    name === "signal"
      ? "it belongs into the second argument: infer(call, { signal })"
      : `it has ${Object.keys(OPTIONS).join(", ")}, and in a second argument signal`;
  return new InferenceError("INVALID_ARG", `infer has no option '${name}': ${hint}`);
}

function objectOf(value: unknown, expected: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value));
  }
  throw invalid(expected, value);
}

function invalid(expected: string, value: unknown): InferenceError {
  return new InferenceError("INVALID_ARG", `${expected}, but got ${optionText(value)}`);
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

function givenBuffers(inputs: Readonly<Record<string, TensorContent>>): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { data } of Object.values(inputs)) {
    // Shared memory has no owner who could give it away.
    if (ArrayBuffer.isView(data) && data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  }
  return [...buffers];
}
