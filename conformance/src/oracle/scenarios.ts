import { deflateSync, gzipSync } from "node:zlib";
import type { OracleRequest, Scenario } from "./oracle-request.ts";

const encoder = new TextEncoder();

type Headers = OracleRequest["headers"];

function ask(
  method: string,
  target: string,
  body: string | Uint8Array = "",
  headers: Headers = [],
): OracleRequest {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const shown = typeof body === "string" ? body.slice(0, 120) : `${body.byteLength} bytes`;
  const name = [method, target, ...headers.map(([key, value]) => `${key}: ${value}`), shown].join(" ").trim();
  return { name, method, target, headers, body: bytes };
}

const get = (target: string): OracleRequest => ask("GET", target);
const post = (target: string, body: string | Uint8Array = "", headers: Headers = []): OracleRequest =>
  ask("POST", target, body, headers);

/** Texts for requests, so that what is no JSON can be written down as well. */
const RANGE = `[${Array.from({ length: 16 }, (_, index) => index).join()}]`;
const input = (name: string, more: string): string => `{"name":"${name}",${more}}`;
const INT32_16 = `"datatype":"INT32","shape":[1,16],"data":${RANGE}`;
const SIMPLE_INPUTS = `${input("INPUT0", INT32_16)},${input("INPUT1", INT32_16)}`;
const simple = (more = ""): string => `{${more}"inputs":[${SIMPLE_INPUTS}]}`;
const SIMPLE = "/v2/models/simple/infer";

function words(count: number): Uint8Array {
  return new Uint8Array(Int32Array.from({ length: count }, (_, index) => index).buffer);
}

function joined(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part))),
  );
}

/** A body whose JSON part is `header`, with a true or a given header length. */
function binary(
  target: string,
  header: string,
  content: Uint8Array,
  length = String(encoder.encode(header).byteLength),
): OracleRequest {
  return post(target, joined(header, content), [["Inference-Header-Content-Length", length]]);
}

const BINARY_SIMPLE_INPUTS = ["INPUT0", "INPUT1"]
  .map((name) => input(name, '"datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}'))
  .join();

const PATHS: readonly OracleRequest[] = [
  ...[
    "/v2",
    "/v2/",
    "/v2?x=1",
    "/V2",
    "/",
    "/v2/health",
    "/v2/health/live",
    "/v2/health/ready",
    "/v2/health/live/",
  ].map(get),
  ...["/v2/models", "/v2/models/", "/v2/models/simple", "/v2/models/simple/", "/v2/models/simple/ready"].map(
    get,
  ),
  ...[
    "/v2/models/nobody",
    "/v2/models/nobody/ready",
    "/v2/models/nobody/config",
    "/v2/models/nobody/stats",
  ].map(get),
  ...["/v2/models/simple/versions", "/v2/models/simple/versions/", "/v2/models/simple/nothing"].map(get),
  ...["1", "2", "0", "01", "-1", "abc", "1x", "1.5", "99999999999999999999", "9223372036854775807"].flatMap(
    (version) => [
      get(`/v2/models/simple/versions/${version}`),
      get(`/v2/models/simple/versions/${version}/ready`),
    ],
  ),
  ...["1", "3", "2"].flatMap((version) => [
    get(`/v2/models/versions/versions/${version}`),
    get(`/v2/models/versions/versions/${version}/ready`),
    get(`/v2/models/versions/versions/${version}/config`),
  ]),
  get("/v2/models/versions"),
  get("/v2/models/versions/ready"),
  get("/v2/models/versions/config"),
  ...[
    "simple",
    "matrix",
    "reshaped",
    "labelled",
    "optional",
    "queued",
    "decoupled",
    "identity_string",
    "batched",
  ].flatMap((model) => [get(`/v2/models/${model}`), get(`/v2/models/${model}/config`)]),
  ...["POST", "PUT", "DELETE", "PATCH", "OPTIONS"].flatMap((method) => [
    ask(method, "/v2"),
    ask(method, "/v2/health/ready"),
    ask(method, "/v2/models/simple"),
    ask(method, "/v2/models/simple/config"),
  ]),
  get(SIMPLE),
  ask("PUT", SIMPLE, simple()),
  get("/v2/repository/index"),
  get("/v2/repository/models/simple/load"),
  post("/v2/models/simple%20/infer", simple()),
  post("/v2/models//infer", simple()),
  post("/v2//models/simple/infer", simple()),
  post("/v2/models/simple/infer/", simple()),
  post("/v2/models/simple/infer?a=b", simple()),
  post("/v2/models/simple/versions/1/infer", simple()),
  post("/v2/models/simple/versions/2/infer", simple()),
  post("/v2/models/simple/versions/x/infer", simple()),
  post("/v2/models/nobody/infer", simple()),
  get("/v2/models/stats"),
  get("/metrics"),
];

/** What stands where an object, an array, a text ... is expected. */
const ODD_VALUES = ["null", "1", '"x"', "true", "[]", "{}", "1.5", "-1"];

const JSON_FAULTS: readonly OracleRequest[] = [
  ...[
    "",
    " ",
    "{",
    "}",
    "[",
    "nul",
    "{}",
    "[]",
    "1",
    '"x"',
    "null",
    "{]",
    '{"inputs"}',
    '{"inputs":}',
    "{'inputs':[]}",
  ],
  ...[
    `${simple()} `,
    `${simple()}x`,
    `${simple()}{}`,
    `\ufeff${simple()}`,
    `/* c */${simple()}`,
    '{"inputs":[],}',
    '{"inputs":[1,]}',
  ],
  ...ODD_VALUES.map((value) => `{"inputs":${value}}`),
  ...ODD_VALUES.map((value) => `{"inputs":[${value}]}`),
  ...ODD_VALUES.map((value) => simple(`"id":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"parameters":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[${value}],`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[{"name":${value}}],`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[{"name":"OUTPUT0","parameters":${value}}],`)),
  ...ODD_VALUES.map((value) => `{"inputs":[{"name":${value},${INT32_16}}]}`),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":${value},"shape":[1,16],"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":${value},"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,${value}],"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":${value}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,1],"data":[${value}]}]}`,
  ),
  ...ODD_VALUES.map((value) => `{"inputs":[{"name":"INPUT0",${INT32_16},"parameters":${value}}]}`),
  `{"inputs":[{"name":"INPUT0"}]}`,
  `{"inputs":[{"datatype":"INT32"}]}`,
  `{"inputs":[{"name":"INPUT0","datatype":"INT32"}]}`,
  `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16]}]}`,
].map((body) => post(SIMPLE, body));

const tensor = (shape: string, data: string, datatype = "INT32"): string =>
  `{"inputs":[${["INPUT0", "INPUT1"].map((name) => input(name, `"datatype":"${datatype}","shape":${shape},"data":${data}`)).join()}]}`;

const VALIDATION: readonly OracleRequest[] = [
  simple(),
  simple('"id":"abc",'),
  `{"inputs":[${input("INPUT0", INT32_16)}]}`,
  `{"inputs":[]}`,
  `{"inputs":[${SIMPLE_INPUTS},${input("INPUT2", INT32_16)}]}`,
  `{"inputs":[${input("INPUT0", INT32_16)},${input("OTHER", INT32_16)}]}`,
  `{"inputs":[${input("INPUT0", INT32_16)},${input("INPUT0", INT32_16)}]}`,
  `{"id":"7","inputs":[${input("INPUT0", INT32_16)}]}`,
  tensor("[16]", RANGE),
  tensor("[1,1,16]", RANGE),
  tensor("[2,16]", RANGE),
  tensor("[2,8]", RANGE),
  tensor("[9,16]", `[${Array.from({ length: 144 }, () => 1).join()}]`),
  tensor("[0,16]", "[]"),
  tensor("[]", "[]"),
  tensor("[1,-16]", RANGE),
  tensor("[1,9223372036854775807]", RANGE),
  tensor("[4294967296,4294967296]", RANGE),
  tensor("[1,16]", "[1,2,3]"),
  tensor("[1,16]", `[${Array.from({ length: 17 }, () => 1).join()}]`),
  tensor("[1,16]", `[${RANGE}]`),
  tensor("[1,16]", `[[[${RANGE}]]]`),
  tensor("[1,16]", `[[1,2],[3]]`),
  tensor("[1,16]", RANGE, "FP32"),
  tensor("[1,16]", RANGE, "INT64"),
  tensor("[1,16]", RANGE, "BYTES"),
  tensor("[1,16]", RANGE, "NOTHING"),
  tensor("[1,16]", RANGE, "int32"),
  tensor("[1,16]", RANGE, ""),
  tensor("[1,16]", `["1",${RANGE.slice(3)}`),
  tensor("[1,16]", `[1.5,${RANGE.slice(3)}`),
  tensor("[1,16]", `[2147483648,${RANGE.slice(3)}`),
  tensor("[1,16]", `[-2147483649,${RANGE.slice(3)}`),
  tensor("[1,16]", `[9223372036854775808,${RANGE.slice(3)}`),
  tensor("[1,16]", `[1e3,${RANGE.slice(3)}`),
  tensor("[1,16]", `[NaN,${RANGE.slice(3)}`),
  tensor("[1,16]", `[true,${RANGE.slice(3)}`),
  tensor("[1,16]", `[null,${RANGE.slice(3)}`),
  simple('"outputs":[{"name":"OUTPUT0"}],'),
  simple('"outputs":[{"name":"OUTPUT1"},{"name":"OUTPUT0"}],'),
  simple('"outputs":[],'),
  simple('"outputs":[{"name":"OTHER"}],'),
  simple('"outputs":[{"name":"OUTPUT0"},{"name":"OUTPUT0"}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}],'),
  simple(
    '"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":false}}],"parameters":{"binary_data_output":true},',
  ),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":1}}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"classification":3}}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"classification":0}}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"classification":-1}}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"classification":"3"}}],'),
  simple('"outputs":[{"name":"OUTPUT0","parameters":{"shared_memory_region":"r"}}],'),
  simple(
    '"outputs":[{"name":"OUTPUT0","parameters":{"shared_memory_region":"r","shared_memory_byte_size":64}}],',
  ),
  simple('"parameters":{"binary_data_output":true},'),
  simple('"parameters":{"binary_data_output":1},'),
  simple('"parameters":{"custom":"text","number":5,"real":1.5,"flag":true},'),
  simple('"parameters":{"custom":null},'),
  simple('"parameters":{"custom":[1]},'),
  simple('"parameters":{"custom":{"a":1}},'),
  simple('"parameters":{"triton_anything":1},'),
  simple('"parameters":{"triton_enable_empty_final_response":true},'),
  ...["priority", "timeout", "sequence_id"].flatMap((name) =>
    ["1", "0", "-1", '"1"', "1.5", "true", "18446744073709551615", "18446744073709551616"].map((value) =>
      simple(`"parameters":{"${name}":${value}},`),
    ),
  ),
  simple('"parameters":{"sequence_start":1},'),
  simple('"parameters":{"sequence_start":true},'),
  simple('"parameters":{"sequence_id":"abc","sequence_start":true,"sequence_end":true},'),
  simple('"parameters":{"headers":1},'),
  `{"inputs":[${input("INPUT0", '"datatype":"INT32","shape":[1,16],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":64}')}]}`,
  `{"inputs":[${input("INPUT0", '"datatype":"INT32","shape":[1,16],"parameters":{"shared_memory_region":"r"}')}]}`,
  `{"inputs":[${input("INPUT0", '"datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}')}]}`,
  `{"unknown":1,"inputs":[${SIMPLE_INPUTS}]}`,
  `{"inputs":[${SIMPLE_INPUTS}],"inputs":[]}`,
].map((body) => post(SIMPLE, body));

const OTHER_MODELS: readonly OracleRequest[] = [
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,3],"data":[[1,2,3],[4,5,6]]}]}',
  ),
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[3,2],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[6],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,0],"data":[]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[5,1],"data":[1,2,3,4,5]}]}',
  ),
  post(
    "/v2/models/reshaped/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2,2],"data":[1,2,3,4]}]}',
  ),
  post(
    "/v2/models/reshaped/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT1","datatype":"INT32","shape":[1,2],"data":[1,2]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]},{"name":"INPUT1","datatype":"INT32","shape":[1,2],"data":[3,4]}]}',
  ),
  post(
    "/v2/models/decoupled/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}]}',
  ),
  ...["1", "2", "3", "9"].map((priority) =>
    post("/v2/models/queued/infer", simple(`"parameters":{"priority":${priority},"timeout":100000},`)),
  ),
  ...["1", "2", "3", "4", "5"].map((count) =>
    post(
      "/v2/models/labelled/infer",
      `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,4],"data":[0.1,0.7,-1,0.2,1,2,3,4]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":${count}}}]}`,
    ),
  ),
  post(
    "/v2/models/labelled/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[0.1,0.7,-1,0.2]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":2,"binary_data":true}}]}',
  ),
  post(
    "/v2/models/identity_string/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":["a","b"]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]}',
  ),
];

const VALUES: Readonly<Record<string, readonly string[]>> = {
  BOOL: ["true", "false", "1", "0", "2", "-1", '"true"', "null"],
  UINT8: ["0", "255", "256", "-1", "1.5", "true"],
  UINT16: ["0", "65535", "65536", "-1"],
  UINT32: ["0", "4294967295", "4294967296", "-1"],
  UINT64: ["0", "18446744073709551615", "18446744073709551616", "-1", "9007199254740993", "1e3"],
  INT8: ["-128", "127", "128", "-129", "1.0"],
  INT16: ["-32768", "32767", "32768"],
  INT32: ["-2147483648", "2147483647", "2147483648"],
  INT64: ["-9223372036854775808", "9223372036854775807", "9223372036854775808", "9007199254740993"],
  FP16: ["1"],
  FP32: [
    "0.1",
    "1",
    "-0.0",
    "1e38",
    "1e39",
    "1e-46",
    "3.4028234663852886e38",
    "16777217",
    "NaN",
    "Infinity",
    "-Infinity",
    "Inf",
    "-NaN",
    "nan",
    "9007199254740993",
    '"1"',
    "123456789.123",
  ],
  FP64: [
    "0.1",
    "1",
    "-0.0",
    "1e308",
    "1e309",
    "5e-324",
    "1e-400",
    "0.30000000000000004",
    "NaN",
    "-Infinity",
    "100000000000000000000000",
    "123456789012345680",
  ],
  BYTES: [
    '"a"',
    '""',
    '"\\u0000"',
    '"\\u00e9"',
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\n\\t\\"\\\\/"',
    "1",
    "null",
    '"\\x"',
    '"caf\u00e9"',
  ],
};

const DATATYPES: readonly OracleRequest[] = Object.entries(VALUES).flatMap(([datatype, values]) =>
  values.map((value) =>
    post(
      `/v2/models/identity_${datatype === "BYTES" ? "string" : datatype.toLowerCase()}/infer`,
      `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":[1],"data":[${value}]}]}`,
    ),
  ),
);

const STRING = "/v2/models/identity_string/infer";
const stringHeader = (size: number, shape = "[1]"): string =>
  `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":${shape},"parameters":{"binary_data_size":${size}}}],"parameters":{"binary_data_output":true}}`;
const simpleHeader = (more = ""): string => `{${more}"inputs":[${BINARY_SIMPLE_INPUTS}]}`;

const BINARY: readonly OracleRequest[] = [
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

const COMPRESSION: readonly OracleRequest[] = [
  post(SIMPLE, new Uint8Array(gzipSync(simple())), [["Content-Encoding", "gzip"]]),
  post(SIMPLE, new Uint8Array(deflateSync(simple())), [["Content-Encoding", "deflate"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "identity"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "br"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "GZIP"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "gzip"]]),
  post(SIMPLE, new Uint8Array(gzipSync(simple())), [["Content-Encoding", "deflate"]]),
  post(SIMPLE, "", [["Content-Encoding", "gzip"]]),
  ...["gzip", "deflate", "gzip, deflate", "deflate, gzip", "br", "identity", "*", "GZIP", "gzip;q=0"].map(
    (encodings) => post(SIMPLE, simple(), [["Accept-Encoding", encodings]]),
  ),
  post(SIMPLE, simple('"parameters":{"binary_data_output":true},'), [["Accept-Encoding", "gzip"]]),
  post(SIMPLE, '{"inputs":[]}', [["Accept-Encoding", "gzip"]]),
  ask("GET", "/v2/models/simple/config", "", [["Accept-Encoding", "gzip"]]),
];

const GENERATE: readonly OracleRequest[] = ["generate", "generate_stream"].flatMap((kind) => [
  get(`/v2/models/identity_string/${kind}`),
  ...[
    '{"INPUT0":"a"}',
    '{"INPUT0":["a","b"]}',
    '{"INPUT0":1}',
    '{"INPUT0":null}',
    "{}",
    "",
    "[]",
    "{",
    '{"INPUT0":"a","other":1}',
    '{"id":"7","INPUT0":"a"}',
    '{"INPUT0":{"x":1}}',
    '{"INPUT0":[["a"]]}',
    '{"id":1,"INPUT0":"a"}',
  ].map((body) => post(`/v2/models/identity_string/${kind}`, body)),
  ...['{"INPUT0":1.5}', '{"INPUT0":[1,2,3]}', '{"INPUT0":true}'].map((body) =>
    post(`/v2/models/identity_fp32/${kind}`, body),
  ),
  post(`/v2/models/nobody/${kind}`, '{"INPUT0":"a"}'),
  post(`/v2/models/identity_string/versions/1/${kind}`, '{"INPUT0":"a"}'),
  post(`/v2/models/identity_string/versions/2/${kind}`, '{"INPUT0":"a"}'),
]);

const FIXED_CONTROL: readonly OracleRequest[] = [
  post("/v2/repository/index"),
  post("/v2/repository/models/simple/load"),
  post("/v2/repository/models/simple/unload"),
  post("/v2/repository/models/nobody/load"),
  post("/v2/repository/models/simple/load", "{"),
  post(SIMPLE, simple()),
];

const CONTROL: readonly OracleRequest[] = [
  post("/v2/repository/index"),
  post("/v2/repository/index", '{"ready":true}'),
  post("/v2/repository/index", '{"ready":false}'),
  post("/v2/repository/index", '{"ready":1}'),
  post("/v2/repository/index", "["),
  post("/v2/repository/index", "[]"),
  post("/v2/repository/index/"),
  post("/v2/repository/nobody/index"),
  post("/v2/repository"),
  post("/v2/repository/models/nobody/load"),
  post("/v2/repository/models/nobody/unload"),
  post("/v2/repository/models/simple/load"),
  get("/v2/models/simple/ready"),
  post(SIMPLE, simple()),
  post("/v2/repository/models/simple/load", "{"),
  post("/v2/repository/models/simple/load", "{}"),
  post("/v2/repository/models/simple/load", '{"parameters":1}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"config":1}}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"config":"{"}}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"config":"{\\"max_batch_size\\":\\"x\\"}"}}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"nonsense":"x"}}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"file:1/model.py":"eA=="}}'),
  post("/v2/repository/models/simple/load", '{"parameters":{"config":"{}","file:1/model.py":1}}'),
  post(
    "/v2/repository/models/simple/load",
    JSON.stringify({
      parameters: {
        config: JSON.stringify({
          name: "simple",
          backend: "python",
          max_batch_size: 2,
          input: [0, 1].map((index) => ({ name: `INPUT${index}`, data_type: "TYPE_INT32", dims: [16] })),
          output: [0, 1].map((index) => ({ name: `OUTPUT${index}`, data_type: "TYPE_INT32", dims: [16] })),
          instance_group: [{ kind: "KIND_CPU" }],
        }),
      },
    }),
  ),
  get("/v2/models/simple/config"),
  post(SIMPLE, tensor("[3,16]", `[${Array.from({ length: 48 }, () => 1).join()}]`)),
  post("/v2/repository/models/simple/unload"),
  get("/v2/models/simple"),
  get("/v2/models/simple/ready"),
  get("/v2/models/simple/config"),
  get("/v2/models/simple/stats"),
  post(SIMPLE, simple()),
  post("/v2/repository/models/simple/unload"),
  post("/v2/repository/models/simple/unload", '{"parameters":{"unload_dependents":true}}'),
  post("/v2/repository/models/simple/unload", '{"parameters":{"unload_dependents":1}}'),
  post("/v2/repository/models/simple/unload", "{"),
  post("/v2/repository/models/simple/unload", '{"parameters":{"other":1}}'),
  ...[
    "bad_syntax",
    "bad_field",
    "bad_name",
    "bad_dims",
    "bad_batch",
    "bad_backend",
    "no_backend",
    "no_type",
    "no_version",
  ].map((model) => post(`/v2/repository/models/${model}/load`)),
  get("/v2/models/bad_backend"),
  get("/v2/models/bad_backend/ready"),
  get("/v2/health/ready"),
  post("/v2/repository/models/versions/load"),
  post("/v2/repository/index"),
  post("/v2/repository/models/..%2Fsimple/load"),
  post("/v2/repository/models//load"),
];

const LOGGING: readonly OracleRequest[] = [
  get("/v2/logging"),
  ...[
    '{"log_info":false}',
    '{"log_info":1}',
    '{"log_info":"false"}',
    '{"log_verbose_level":1}',
    '{"log_verbose_level":-1}',
  ],
  ...[
    '{"log_verbose_level":"1"}',
    '{"log_format":"ISO8601"}',
    '{"log_format":"other"}',
    '{"log_format":1}',
    '{"log_file":""}',
  ],
  ...[
    '{"log_file":"x"}',
    '{"nothing":1}',
    "{",
    "",
    "[]",
    '{"log_verbose_level":0,"log_info":true,"log_format":"default"}',
  ],
].map((one) => (typeof one === "string" ? post("/v2/logging", one) : one));

const TRACE: readonly OracleRequest[] = [
  get("/v2/trace/setting"),
  get("/v2/models/simple/trace/setting"),
  get("/v2/models/nobody/trace/setting"),
  ...[
    '{"trace_level":["TIMESTAMPS"]}',
    '{"trace_level":["OFF"]}',
    '{"trace_level":["OTHER"]}',
    '{"trace_level":"TIMESTAMPS"}',
  ],
  ...[
    '{"trace_rate":"5"}',
    '{"trace_rate":5}',
    '{"trace_rate":"-1"}',
    '{"trace_rate":"x"}',
    '{"trace_count":"-1"}',
    '{"trace_count":"10"}',
  ],
  ...[
    '{"log_frequency":"7"}',
    '{"trace_file":"x"}',
    '{"trace_mode":"triton"}',
    '{"nothing":"1"}',
    "{",
    "[]",
    "",
    '{"trace_rate":null,"trace_count":null}',
  ],
].map((one) => (typeof one === "string" ? post("/v2/trace/setting", one) : one));

const SHARED_MEMORY: readonly OracleRequest[] = ["system", "cuda"].flatMap((kind) => [
  get(`/v2/${kind}sharedmemory/status`),
  get(`/v2/${kind}sharedmemory/region/r/status`),
  post(`/v2/${kind}sharedmemory/region/r/register`, "{}"),
  post(`/v2/${kind}sharedmemory/region/r/register`, "{"),
  post(`/v2/${kind}sharedmemory/region/r/register`, '{"key":"/none","offset":0,"byte_size":64}'),
  post(`/v2/${kind}sharedmemory/unregister`),
  post(`/v2/${kind}sharedmemory/region/r/unregister`),
]);

const STATISTICS: readonly OracleRequest[] = [
  get("/v2/models/simple/stats"),
  post(SIMPLE, simple()),
  post(SIMPLE, tensor("[2,16]", `[${Array.from({ length: 32 }, () => 1).join()}]`)),
  post(SIMPLE, '{"inputs":[]}'),
  get("/v2/models/simple/stats"),
  get("/v2/models/simple/versions/1/stats"),
  get("/v2/models/simple/versions/2/stats"),
  get("/v2/models/stats"),
];

const EVERY_MODEL = [
  ...["simple", "matrix", "batched", "reshaped", "labelled", "optional", "queued", "versions", "decoupled"],
  ...[
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "fp16",
    "fp32",
    "fp64",
    "string",
  ].map((type) => `identity_${type}`),
];

function scenario(name: string, requests: readonly OracleRequest[], more: Partial<Scenario> = {}): Scenario {
  return { name, control: "explicit", loadModels: EVERY_MODEL, requests, ...more };
}

/** Everything that is asked. Each scenario meets a fresh server. */
export const SCENARIOS: readonly Scenario[] = [
  scenario("paths", PATHS),
  scenario("json-faults", JSON_FAULTS),
  scenario("validation", VALIDATION),
  scenario("models", OTHER_MODELS),
  scenario("datatypes", DATATYPES),
  scenario("binary", BINARY),
  scenario("compression", COMPRESSION),
  scenario("control", CONTROL, { loadModels: ["simple"] }),
  scenario("logging", LOGGING, { loadModels: ["simple"] }),
  scenario("trace", TRACE, { loadModels: ["simple"] }),
  scenario("shared-memory", SHARED_MEMORY, { loadModels: ["simple"] }),
  scenario("statistics", STATISTICS, { loadModels: ["simple"] }),
  scenario("generate", GENERATE, { loadModels: ["identity_string", "identity_fp32"] }),
  scenario("fixed-control", FIXED_CONTROL, { control: "none", loadModels: ["simple"] }),
];
