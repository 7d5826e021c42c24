import { create } from "@bufbuild/protobuf";
import {
  type InferParameter,
  InferParameterSchema,
  type ModelInferRequest,
  ModelInferRequestSchema,
} from "../src/gen/grpc_service_pb.ts";

type Choice = InferParameter["parameterChoice"];

export function parameter(parameterChoice: Choice): InferParameter {
  return create(InferParameterSchema, { parameterChoice });
}

export const bool = (value: boolean): InferParameter => parameter({ case: "boolParam", value });
export const int64 = (value: bigint): InferParameter => parameter({ case: "int64Param", value });
export const uint64 = (value: bigint): InferParameter => parameter({ case: "uint64Param", value });
export const double = (value: number): InferParameter => parameter({ case: "doubleParam", value });
export const string = (value: string): InferParameter => parameter({ case: "stringParam", value });

interface EchoMessageOptions {
  readonly id?: string;
  readonly parameters?: Record<string, InferParameter>;
  readonly shape?: readonly bigint[];
}

/** One INT32 in `x`, as raw content: what an echo model takes. */
export function echoMessage(
  modelName: string,
  value: number,
  { id = "", parameters = {}, shape = [1n, 1n] }: EchoMessageOptions = {},
): ModelInferRequest {
  return create(ModelInferRequestSchema, {
    modelName,
    id,
    parameters,
    inputs: [{ name: "x", datatype: "INT32", shape: [...shape] }],
    rawInputContents: [new Uint8Array(Int32Array.of(value).buffer)],
  });
}

/** The first INT32 of the first output. */
export function firstInt32(rawOutputContents: readonly Uint8Array[]): number | undefined {
  const [bytes] = rawOutputContents;
  return bytes === undefined ? undefined : new Int32Array(bytes.slice().buffer)[0];
}
