import type { MessageInitShape } from "@bufbuild/protobuf";
import { InferenceError, type Parameters, type ParameterValue } from "@naiad/protocol";
import type { InferParameter, InferParameterSchema } from "./gen/grpc_service_pb.ts";

export type ParameterMap = Readonly<Record<string, InferParameter>>;
export type ParameterInit = MessageInitShape<typeof InferParameterSchema>;

/** The value of a parameter to which the server gives no meaning. Triton takes no `uint64_param` there. */
export function readCustomParameter(
  name: string,
  { parameterChoice: choice }: InferParameter,
): ParameterValue {
  if (choice.case === undefined || choice.case === "uint64Param") {
    throw wrongType(name, "int64_param, bool_param, or string_param.");
  }
  return choice.value;
}

/** `expected` is the rest of Triton's text, whose full stop comes and goes. */
export function wrongType(name: string, expected: string): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `invalid value type for '${name}' parameter, expected ${expected}`,
  );
}

export function writeParameters(parameters: Parameters): Record<string, ParameterInit> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, { parameterChoice: choiceOf(value) }]),
  );
}

const INT64_MAX = 2n ** 63n - 1n;

function choiceOf(value: ParameterValue): NonNullable<ParameterInit["parameterChoice"]> {
  if (typeof value === "string") return { case: "stringParam", value };
  if (typeof value === "boolean") return { case: "boolParam", value };
  if (typeof value === "number") return { case: "doubleParam", value };
  return value > INT64_MAX ? { case: "uint64Param", value } : { case: "int64Param", value };
}
