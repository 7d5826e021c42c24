import type { HeaderList } from "@naiad/protocol";
import fc from "fast-check";

/** Requests that are almost right, which reach further than noise does. */

const MODELS = ["numbers", "text", "batched", "two", "nobody"];

/** A request that each model answers. */
const VALID: readonly (readonly [model: string, body: string])[] = [
  ["numbers", '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[3],"data":[0.5,NaN,1e3]}]}'],
  [
    "text",
    '{"id":"7","inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":["ö\\n",""]}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}',
  ],
  [
    "batched",
    '{"parameters":{"priority":1,"own":"x"},"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[2,1],"data":[[1],[255]]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]}',
  ],
  [
    "two",
    '{"inputs":[{"name":"INPUT1","datatype":"BOOL","shape":[1],"data":[true]},{"name":"INPUT0","datatype":"INT64","shape":[1],"data":[9007199254740993]}]}',
  ],
];

const NAMES = ["INPUT0", "INPUT1", "OUTPUT0", "", "__proto__", "parameters", "ö"];
const DATATYPES = ["FP32", "INT64", "UINT8", "BOOL", "BYTES", "FP16", "BF16", "FP31", ""];
const KEYS = [
  "id",
  "inputs",
  "outputs",
  "parameters",
  "name",
  "shape",
  "datatype",
  "data",
  "binary_data",
  "binary_data_size",
  "binary_data_output",
  "classification",
  "shared_memory_region",
  "sequence_id",
  "sequence_start",
  "priority",
  "timeout",
  "triton_x",
  "ready",
  "config",
  "file:1/model.fake",
  "unload_dependents",
  "trace_level",
  "trace_rate",
  "log_verbose_level",
  "log_format",
  ...NAMES,
];

/** Literals of JSON as rapidjson reads it, right ones and wrong ones. */
const LITERALS = [
  ..."null true false NaN -Infinity Inf 0 -0 1 -1 2 16 255 0.5 1.0 1e3 1e308 1e400 9007199254740993".split(
    " ",
  ),
  ..."18446744073709551615 18446744073709551616 -9223372036854775809 [] {} [[]] [1,2] [1,[2]]".split(" "),
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"OFF"',
];

const text = fc.oneof(fc.constantFrom(...NAMES, ...DATATYPES), fc.string({ maxLength: 5 })).map(quoted);

function quoted(value: string): string {
  return JSON.stringify(value);
}

function list(element: fc.Arbitrary<string>, maxLength = 4): fc.Arbitrary<string> {
  return fc.array(element, { maxLength }).map((elements) => `[${elements.join(",")}]`);
}

function object(members: fc.Arbitrary<readonly (readonly [string, string])[]>): fc.Arbitrary<string> {
  return members.map((entries) => `{${entries.map(([key, value]) => `${quoted(key)}:${value}`).join(",")}}`);
}

/** Any JSON with the keys that mean something somewhere. */
const anyJson: fc.Arbitrary<string> = fc.letrec<{ node: string; members: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom(...LITERALS),
    text,
    list(tie("node")),
    tie("members"),
  ),
  members: object(fc.array(fc.tuple(fc.constantFrom(...KEYS), tie("node")), { maxLength: 4 })),
})).node;

const number = fc.oneof(fc.constantFrom(...LITERALS), fc.double().map(String), fc.integer().map(String));

/** Flat numbers, also enough of them for the road that long lists take. */
const data = fc.oneof(list(number, 3), list(fc.integer().map(String), 60), list(text, 3), anyJson);

const shape = fc.oneof(
  fc.constantFrom("[1]", "[2]", "[1,1]", "[0]", "[]", "[3,1]", "[4611686018427387904,4]"),
  list(number, 3),
  anyJson,
);

/** Mostly what belongs there, sometimes anything. */
function mostly(right: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: anyJson });
}

function someOf(members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> {
  const entries = Object.entries(members).map(([key, value]) =>
    fc.option(
      value.map((content) => [key, content] as const),
      { freq: 8, nil: undefined },
    ),
  );
  return object(fc.tuple(...entries).map((found) => found.filter((entry) => entry !== undefined)));
}

const binaryParameters = fc.nat({ max: 20 }).map((size) => `{"binary_data_size":${String(size)}}`);

const input = fc.oneof(
  someOf({
    name: mostly(fc.constantFrom('"INPUT0"', '"INPUT1"')),
    shape: mostly(shape),
    datatype: mostly(fc.constantFrom(...DATATYPES.map(quoted))),
    data: mostly(data),
  }),
  someOf({
    name: fc.constantFrom('"INPUT0"', '"INPUT1"'),
    shape: mostly(shape),
    datatype: mostly(fc.constantFrom(...DATATYPES.map(quoted))),
    parameters: mostly(binaryParameters),
  }),
);

const output = someOf({
  name: mostly(fc.constantFrom('"OUTPUT0"', '"OUTPUT1"')),
  parameters: mostly(fc.constantFrom('{"binary_data":true}', '{"classification":1}', "{}")),
});

const inferJson = someOf({
  id: mostly(text),
  parameters: mostly(fc.constantFrom('{"priority":1}', '{"binary_data_output":true}', '{"own":0.5}', "{}")),
  inputs: mostly(list(input, 3)),
  outputs: mostly(list(output, 2)),
});

const generateJson = object(
  fc.array(fc.tuple(fc.constantFrom(...KEYS), fc.oneof(data, number, text)), { maxLength: 5 }),
);

/** Damages a body at a few places: a byte changed, put in, taken out, or the end cut off. */
function damaged(bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const damage = fc.tuple(fc.constantFrom("change", "insert", "remove", "cut"), place, fc.nat({ max: 255 }));
  const damages = fc.oneof(fc.constant([]), fc.array(damage, { minLength: 1, maxLength: 3 }));
  return fc
    .tuple(bytes, damages)
    .map(([whole, places]) =>
      places.reduce(
        (body, [kind, where, byte]) => damageAt(body, kind, Math.floor(where * body.length), byte),
        whole,
      ),
    );
}

function damageAt(body: Uint8Array, kind: string, at: number, byte: number): Uint8Array {
  const [before, after] = [[...body.subarray(0, at)], [...body.subarray(at + 1)]];
  switch (kind) {
    case "change":
      return Uint8Array.from([...before, byte, ...after]);
    case "insert":
      return Uint8Array.from([...before, byte, ...body.subarray(at)]);
    case "remove":
      return Uint8Array.from([...before, ...after]);
    default:
      return Uint8Array.from(before);
  }
}

function bytesOfText(json: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> {
  return json.map((content) => new TextEncoder().encode(content));
}

export interface FuzzRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

const inferTarget = fc
  .tuple(
    fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...VALID.map(([model]) => model)) },
      fc.constant("nobody"),
    ),
    fc.oneof({ weight: 20, arbitrary: fc.constantFrom("", "/versions/1") }, fc.constant("/versions/2")),
  )
  .map(([model, version]) => `/v2/models/${model}${version}`);

function posted(target: string, body: Uint8Array, headers: HeaderList = []): FuzzRequest {
  return { method: "POST", target, headers, body };
}

export const jsonRequests: fc.Arbitrary<FuzzRequest> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(...VALID)
      .chain(([model, json]) =>
        damaged(bytesOfText(fc.constant(json))).map((body) => posted(`/v2/models/${model}/infer`, body)),
      ),
  },
  { weight: 3, arbitrary: inferRequest(inferJson) },
  { weight: 1, arbitrary: inferRequest(anyJson) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(inferTarget, fc.constantFrom("generate", "generate_stream"), damaged(bytesOfText(generateJson)))
      .map(([target, action, body]) => posted(`${target}/${action}`, body)),
  },
);

function inferRequest(json: fc.Arbitrary<string>): fc.Arbitrary<FuzzRequest> {
  return fc
    .tuple(inferTarget, damaged(bytesOfText(json)))
    .map(([target, body]) => posted(`${target}/infer`, body));
}

const blob = fc.oneof(
  fc.uint8Array({ maxLength: 24 }),
  // Lengths and texts of BYTES elements.
  fc
    .array(fc.constantFrom([0, 0, 0, 0], [1, 0, 0, 0, 65], [255, 255, 255, 255]), { maxLength: 3 })
    .map((parts) => Uint8Array.from(parts.flat())),
);

/** As much binary data as the shape says, or a little more or less. */
const fittingBinary: fc.Arbitrary<FuzzRequest> = fc
  .record({
    elements: fc.nat({ max: 4 }),
    size: fc.integer({ min: -2, max: 2 }),
    shift: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 2 })),
    content: fc.uint8Array({ minLength: 20, maxLength: 20 }),
  })
  .map(({ elements, size, shift, content }) => {
    const byteSize = Math.max(0, 4 * elements + (size === 1 ? 1 : 0));
    const head = new TextEncoder().encode(
      `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[${String(elements)}],"parameters":{"binary_data_size":${String(byteSize)}}}],` +
        `"parameters":{"binary_data_output":true}}`,
    );
    return posted(
      "/v2/models/numbers/infer",
      Uint8Array.from([...head, ...content.subarray(0, byteSize + (size === 2 ? 1 : 0))]),
      [["inference-header-content-length", String(head.length + shift)]],
    );
  });

const looseBinary: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    inferTarget,
    bytesOfText(inferJson),
    damaged(blob),
    fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.integer({ min: -5, max: 5 }) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    fc.constantFrom("json", "json", "json", "raw"),
  )
  .map(([target, json, content, shift, kind]) => {
    const head = kind === "raw" ? new Uint8Array(0) : json;
    const headers: HeaderList =
      shift === undefined ? [] : [["inference-header-content-length", String(head.length + shift)]];
    return posted(`${target}/infer`, Uint8Array.from([...head, ...content]), headers);
  });

export const binaryRequests: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 1, arbitrary: fittingBinary },
  { weight: 2, arbitrary: looseBinary },
);

const SEGMENTS = [
  ..."v2 models versions infer generate generate_stream ready config stats trace setting logging health live".split(
    " ",
  ),
  ..."repository index load unload systemsharedmemory cudasharedmemory region status register unregister".split(
    " ",
  ),
  ...MODELS,
  ..."1 2 999999999999999999999 -1 %2F %ff .. %20 latest".split(" "),
  "",
];

const TARGETS = [
  "/v2",
  "/v2/logging",
  "/v2/trace/setting",
  "/v2/models/stats",
  "/v2/repository/index",
  "/v2/repository/r/index",
  "/v2/systemsharedmemory/status",
  "/v2/cudasharedmemory/region/r/register",
  ...MODELS.flatMap((model) => [
    ...[
      "",
      "/config",
      "/ready",
      "/stats",
      "/trace/setting",
      "/infer",
      "/versions/2",
      "/versions/1/config",
    ].map((rest) => `/v2/models/${model}${rest}`),
    ...["load", "load", "load", "unload"].map((action) => `/v2/repository/models/${model}/${action}`),
  ]),
];

const target = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...TARGETS) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 7 }).map((parts) => `/${parts.join("/")}`),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(...TARGETS).map((path) => `${path}?x=/v2/logging#${path}`) },
);

const headerName = fc.constantFrom(
  "content-type",
  "content-encoding",
  "accept-encoding",
  "inference-header-content-length",
  "origin",
  "access-control-request-method",
  "x-own",
  "triton_x",
  "admin-key",
);
const headerText = fc.oneof(
  fc.constantFrom(
    "gzip",
    "identity",
    "deflate;q=0.5, gzip",
    "0",
    "-1",
    "1e3",
    "POST",
    "https://a.test",
    "secret",
    "",
  ),
  fc.string({ maxLength: 8 }),
);

export const wholeRequests: fc.Arbitrary<FuzzRequest> = fc.record({
  method: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("GET", "POST") },
    { weight: 1, arbitrary: fc.constantFrom("HEAD", "OPTIONS", "PUT", "DELETE", "get", "") },
  ),
  target,
  headers: fc.array(fc.tuple(headerName, headerText), { maxLength: 4 }),
  body: fc.oneof(
    fc.constant(new Uint8Array(0)),
    damaged(bytesOfText(anyJson)),
    damaged(bytesOfText(inferJson)),
    fc.uint8Array({ maxLength: 40 }),
  ),
});
