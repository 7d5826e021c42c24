import {
  checkSequenceId,
  defineParameter,
  InferenceError,
  type InferenceRequest,
  type ParameterValue,
  sequenceOrNone,
} from "@naiad/protocol";
import type { InferParameter } from "./gen/grpc_service_pb.ts";
import { type ParameterMap, readCustomParameter, wrongType } from "./infer-parameter.ts";

/** What the parameters of an infer request say. */
export interface RequestParameters extends Pick<
  InferenceRequest,
  "parameters" | "sequence" | "priority" | "timeoutUs"
> {
  /** Whether the end of a stream's request is to be told where it comes without a response. */
  readonly emptyFinalResponse: boolean;
}

export function readRequestParameters(parameters: ParameterMap): RequestParameters {
  const custom: Record<string, ParameterValue> = {};
  let sequenceId: string | bigint = 0n;
  let start = false;
  let end = false;
  let priority = 0;
  let timeoutUs = 0;
  let emptyFinalResponse = false;
  for (const [name, parameter] of Object.entries(parameters)) {
    if (name === "sequence_id") sequenceId = readSequenceId(parameter);
    else if (name === "sequence_start") start = readFlag(name, parameter);
    else if (name === "sequence_end") end = readFlag(name, parameter);
    else if (name === "priority") priority = readPriority(parameter);
    else if (name === "timeout") timeoutUs = readTimeout(parameter);
    else if (name === EMPTY_FINAL_RESPONSE) emptyFinalResponse = readFlag(name, parameter);
    else if (name.startsWith("triton_")) throw reserved();
    else defineParameter(custom, name, readCustomParameter(name, parameter));
  }
  const sequence = sequenceOrNone({ id: sequenceId, start, end });
  return {
    parameters: custom,
    emptyFinalResponse,
    ...(sequence !== undefined && { sequence }),
    ...(priority !== 0 && { priority }),
    ...(timeoutUs !== 0 && { timeoutUs }),
  };
}

const EMPTY_FINAL_RESPONSE = "triton_enable_empty_final_response";

/** Unlike HTTP, where no such key is allowed at all. */
function reserved(): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with " +
      `'triton_' are allowed: ${EMPTY_FINAL_RESPONSE}`,
  );
}

/** A number is an unsigned one, whatever its field says. */
function readSequenceId({ parameterChoice: choice }: InferParameter): string | bigint {
  if (choice.case === "int64Param") return BigInt.asUintN(64, choice.value);
  if (choice.case === "stringParam") return checkSequenceId(choice.value);
  throw wrongType("sequence_id", "int64_param or string_param.");
}

function readFlag(name: string, { parameterChoice: choice }: InferParameter): boolean {
  if (choice.case === "boolParam") return choice.value;
  throw wrongType(name, "bool_param.");
}

function readPriority({ parameterChoice: choice }: InferParameter): number {
  if (choice.case !== "int64Param" && choice.case !== "uint64Param") {
    throw wrongType("priority", "int64_param or uint64_param.");
  }
  if (choice.value < 0n) {
    throw new InferenceError("INVALID_ARG", "invalid value for 'priority', expected value >= 0.");
  }
  return Number(choice.value);
}

function readTimeout({ parameterChoice: choice }: InferParameter): number {
  if (choice.case !== "int64Param") throw wrongType("timeout", "int64_param.");
  return Number(BigInt.asUintN(64, choice.value));
}
