import type { OracleRequest } from "../oracle-request.ts";
import { binary, joined, post } from "./ask.ts";
import { RANGE, SIMPLE, input, simple } from "./simple-request.ts";

function words(count: number): Uint8Array {
  return new Uint8Array(Int32Array.from({ length: count }, (_, index) => index).buffer);
}

const BINARY_SIMPLE_INPUTS = ["INPUT0", "INPUT1"]
  .map((name) => input(name, '"datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}'))
  .join();

const STRING = "/v2/models/identity_string/infer";
const stringHeader = (size: number, shape = "[1]"): string =>
  `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":${shape},"parameters":{"binary_data_size":${size}}}],"parameters":{"binary_data_output":true}}`;
const simpleHeader = (more = ""): string => `{${more}"inputs":[${BINARY_SIMPLE_INPUTS}]}`;

export const BINARY: readonly OracleRequest[] = [
  binary(SIMPLE, simpleHeader(), words(32)),
  binary(SIMPLE, simpleHeader('"parameters":{"binary_data_output":true},'), words(32)),
  binary(
    SIMPLE,
    simpleHeader('"outputs":[{"name":"OUTPUT1","parameters":{"binary_data":true}},{"name":"OUTPUT0"}],'),
    words(32),
  ),
  binary(SIMPLE, simpleHeader(), words(31)),
  binary(SIMPLE, simpleHeader(), words(33)),
  binary(SIMPLE, simpleHeader(), new Uint8Array()),
  ...["0", "-1", "abc", "1", "100000", "99999999999999999999", "1.5", "", " 10"].map((length) =>
    binary(SIMPLE, simpleHeader(), words(32), length),
  ),
  binary(SIMPLE, simple(), new Uint8Array()),
  binary(SIMPLE, simple(), words(1)),
  binary(
    SIMPLE,
    `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":${RANGE},"parameters":{"binary_data_size":64}}]}`,
    words(16),
  ),
  ...["60", "-64", '"64"', "64.5", "0"].map((size) =>
    binary(
      SIMPLE,
      `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":${size}}}]}`,
      words(16),
    ),
  ),
  binary(STRING, stringHeader(5), joined(Uint8Array.of(1, 0, 0, 0), "a")),
  binary(STRING, stringHeader(4), Uint8Array.of(0, 0, 0, 0)),
  binary(STRING, stringHeader(5), joined(Uint8Array.of(1, 0, 0, 0), Uint8Array.of(0xff))),
  binary(STRING, stringHeader(5), joined(Uint8Array.of(1, 0, 0, 0), Uint8Array.of(0))),
  binary(STRING, stringHeader(5), joined(Uint8Array.of(9, 0, 0, 0), "a")),
  binary(STRING, stringHeader(3), Uint8Array.of(1, 0, 0)),
  binary(STRING, stringHeader(10), joined(Uint8Array.of(1, 0, 0, 0), "a", Uint8Array.of(1, 0, 0, 0), "b")),
  binary(
    STRING,
    stringHeader(10, "[2]"),
    joined(Uint8Array.of(1, 0, 0, 0), "a", Uint8Array.of(1, 0, 0, 0), "b"),
  ),
  binary(STRING, stringHeader(5, "[2]"), joined(Uint8Array.of(1, 0, 0, 0), "a")),
  binary(STRING, stringHeader(0, "[0]"), new Uint8Array()),
  post("/v2/models/identity_fp32/infer", words(4), [["Inference-Header-Content-Length", "0"]]),
  post("/v2/models/identity_fp32/infer", joined("abc"), [["Inference-Header-Content-Length", "0"]]),
  post("/v2/models/identity_fp32/infer", "", [["Inference-Header-Content-Length", "0"]]),
  post(SIMPLE, words(32), [["Inference-Header-Content-Length", "0"]]),
  post("/v2/models/batched/infer", words(4), [["Inference-Header-Content-Length", "0"]]),
  post("/v2/models/matrix/infer", words(6), [["Inference-Header-Content-Length", "0"]]),
  post("/v2/models/matrix/infer", words(5), [["Inference-Header-Content-Length", "0"]]),
  post(STRING, joined("hello"), [["Inference-Header-Content-Length", "0"]]),
];
