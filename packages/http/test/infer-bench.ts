import type { JsonObject, JsonValue } from "@naiad/protocol";
import type { Answer, HttpBench } from "./http-bench.ts";
import { createHttpBench } from "./http-bench.ts";
import { fakeModel, identityModel } from "./models.ts";

/** What Triton's own suites for HTTP, input validation and output names look after, against a whole server. */
export const MODELS = {
  simple: fakeModel({
    inputs: "INPUT0 INT32 [16]; INPUT1 INT32 [16]",
    outputs: "OUTPUT0 INT32 [16]; OUTPUT1 INT32 [16]",
    maxBatchSize: 8,
  }),
  fp32: identityModel("FP32", "[-1]"),
  fixed: identityModel("FP32", "[1,2]"),
  open: identityModel("INT16", "[-1,-1]"),
  text: identityModel("STRING", "[1]", { maxBatchSize: 8 }),
  texts: identityModel("STRING", "[-1]"),
  half: identityModel("FP16", "[2]"),
  flag: identityModel("BOOL", "[-1]"),
  optional: fakeModel({
    inputs: "A INT32 [1]; B INT32 [1] optional: true; C INT32 [1]",
    outputs: "X INT32 [1]",
  }),
};

export const NOTE =
  "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.";

export function startBench(): Promise<HttpBench> {
  return createHttpBench({ models: MODELS });
}

export function infer(model: string): string {
  return `/v2/models/${model}/infer`;
}

export const SIXTEEN = Array.from({ length: 16 }, (_, index) => index);

export function input(name: string, more: JsonObject = {}): JsonObject {
  return { name, shape: [1, 16], datatype: "INT32", data: SIXTEEN, ...more };
}

export function simple(more: JsonObject = {}): JsonObject {
  return { inputs: [input("INPUT0"), input("INPUT1")], ...more };
}

export function one(datatype: string, shape: JsonValue, data: JsonValue, more: JsonObject = {}): JsonObject {
  return { inputs: [{ name: "INPUT0", shape, datatype, data, ...more }] };
}

export function outcome({ status, error }: Answer): readonly [number, string] {
  return [status, error];
}

export function outputData({ json }: Answer): JsonValue {
  const { outputs } = json as unknown as { readonly outputs: readonly { readonly data: JsonValue }[] };
  return outputs[0]?.data ?? null;
}
