import { type DecodedInferRequest, decodeInferRequest } from "../src/decode-infer-request.ts";

export const utf8 = new TextEncoder();

export interface Body {
  readonly json: string;
  readonly binary?: readonly number[];
  readonly maxInputSize?: number;
}

export function decode({ json, binary = [], maxInputSize = 1 << 20 }: Body): DecodedInferRequest {
  const header = utf8.encode(json);
  const body = new Uint8Array([...header, ...binary]);
  return decodeInferRequest({
    modelName: "m",
    modelVersion: "3",
    body,
    headerLength: header.length,
    maxInputSize,
  });
}

export const withInput = (input: string): string => `{"inputs":[${input}]}`;

export const withData = (datatype: string, shape: string, data: string): string =>
  withInput(`{"name":"x","shape":${shape},"datatype":"${datatype}","data":${data}}`);

export const withParameters = (parameters: string): string => `{"parameters":${parameters},"inputs":[]}`;
