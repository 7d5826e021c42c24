import type { CollectedParameters } from "./collect-parameters.ts";
import { collectParameters, defineParameter } from "./collect-parameters.ts";
import {
  asBoolean,
  asString,
  asUnsigned,
  isInteger,
  isUnsigned,
  membersOf,
  toDouble,
} from "./json-access.ts";
import type { JsonNode } from "./json-node.ts";
import type { InferenceRequest, Parameters, ParameterValue } from "./messages.ts";
import { InferenceError } from "./status.ts";
import type { TensorTransfer } from "./tensor-transfers.ts";

/** What the `parameters` object of an infer request says. */
export interface InferParameters extends CollectedParameters {
  /** How outputs go back that the request does not list. */
  readonly defaultTransfer: TensorTransfer;
}

export const NO_PARAMETERS: InferParameters = { custom: {}, defaultTransfer: "json" };

/** Names that mean something to the server and are no custom parameters. */
const SPECIAL_PARAMETERS: ReadonlySet<string> = new Set([
  "sequence_id",
  "sequence_start",
  "sequence_end",
  "priority",
  "timeout",
  "binary_data_output",
]);

const MAX_SEQUENCE_ID_BYTES = 128;

export function readInferParameters(node: JsonNode): InferParameters {
  let defaultTransfer: TensorTransfer = "json";
  const collected = collectParameters(membersOf(node, "failed to get request params."), {
    sequenceId: readSequenceId,
    flag: (name, value) => asBoolean(value, contextOf(name)),
    priority: (value) => Number(asUnsigned(value, contextOf("priority"))),
    timeoutUs: (value) => Number(asUnsigned(value, contextOf("timeout"))),
    other: (name, value) => {
      if (name.startsWith("triton_")) throw reservedParameter();
      if (name !== "binary_data_output") return readCustomParameter(name, value);
      defaultTransfer = asBoolean(value, contextOf(name)) ? "binary" : "json";
      return undefined;
    },
  });
  return { ...collected, defaultTransfer };
}

function contextOf(name: string): string {
  return `Unable to parse '${name}'`;
}

function readSequenceId(value: JsonNode): string | bigint {
  return isUnsigned(value) ? BigInt(value) : checkSequenceId(asString(value, contextOf("sequence_id")));
}

/** Gives the text back; throws INVALID_ARG where it is too long for the id of a sequence. */
export function checkSequenceId(text: string): string {
  if (new TextEncoder().encode(text).length > MAX_SEQUENCE_ID_BYTES) {
    throw new InferenceError(
      "INVALID_ARG",
      `string correlation ID cannot be longer than ${String(MAX_SEQUENCE_ID_BYTES)} bytes`,
    );
  }
  return text;
}

/** The error for a name that clients may not give. */
export function reservedParameter(): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
  );
}

/** Throws INVALID_ARG for anything but a string, a boolean or a number. */
export function readCustomParameter(name: string, value: JsonNode): ParameterValue {
  const parameter = toParameter(value);
  if (parameter !== undefined) return parameter;
  throw new InferenceError(
    "INVALID_ARG",
    `parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`,
  );
}

function toParameter(value: JsonNode): ParameterValue | undefined {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (isInteger(value)) return BigInt(value);
  return toDouble(value);
}

/** The `parameters` of a response. Throws INTERNAL for anything but strings, booleans and numbers. */
export function readResponseParameters(node: JsonNode): Parameters {
  const parameters: Record<string, ParameterValue> = {};
  for (const [name, value] of membersOf(node, "Unable to parse 'parameters'")) {
    defineParameter(parameters, name, readCustomParameter(name, value));
  }
  return parameters;
}

/** The special parameters that a request carries in its own fields. */
export function specialParameters(request: InferenceRequest): readonly (readonly [string, ParameterValue])[] {
  const { sequence, priority = 0, timeoutUs = 0 } = request;
  const parameters: (readonly [string, ParameterValue])[] = [];
  if (sequence !== undefined) {
    parameters.push(["sequence_id", sequence.id]);
    parameters.push(["sequence_start", sequence.start], ["sequence_end", sequence.end]);
  }
  if (priority !== 0) parameters.push(["priority", BigInt(priority)]);
  if (timeoutUs !== 0) parameters.push(["timeout", BigInt(timeoutUs)]);
  return parameters;
}

/** For clients: throws INVALID_ARG when a custom parameter has a name that the server gives a meaning of its own. */
export function checkCustomParameters(parameters: Parameters): void {
  for (const name of Object.keys(parameters)) {
    if (name.startsWith("triton_")) throw reservedParameter();
    if (SPECIAL_PARAMETERS.has(name)) {
      throw new InferenceError(
        "INVALID_ARG",
        `Parameter "${name}" is a reserved parameter and cannot be specified.`,
      );
    }
  }
}
