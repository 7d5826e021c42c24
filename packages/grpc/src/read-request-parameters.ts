import type { CollectedParameters } from "@naiad/protocol";
import { checkSequenceId, collectParameters, InferenceError } from "@naiad/protocol";
import type { InferParameter } from "./gen/grpc_service_pb.ts";
import { type ParameterMap, readCustomParameter, wrongType } from "./infer-parameter.ts";

/** What the parameters of an infer request say. */
export interface RequestParameters extends CollectedParameters {
  /** Whether the end of a stream's request is to be told where it comes without a response. */
  readonly emptyFinalResponse: boolean;
}

export function readRequestParameters(parameters: ParameterMap): RequestParameters {
  let emptyFinalResponse = false;
  const collected = collectParameters(Object.entries(parameters), {
    sequenceId: readSequenceId,
    flag: readFlag,
    priority: readPriority,
    timeoutUs: readTimeout,
    other: (name, parameter) => {
      if (name !== EMPTY_FINAL_RESPONSE) {
        if (name.startsWith("triton_")) throw reserved();
        return readCustomParameter(name, parameter);
      }
      emptyFinalResponse = readFlag(name, parameter);
      return undefined;
    },
  });
  return { ...collected, emptyFinalResponse };
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
