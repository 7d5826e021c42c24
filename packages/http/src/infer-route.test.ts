import {
  bytesOf,
  type BytesTensor,
  encodeBytesElements,
  type ExchangeResponse,
  headerValue,
  type HeaderList,
  InferenceError,
  type InferenceRequest,
  type InferenceResponse,
  type JsonObject,
  type ModelMetadata,
  type ModelReference,
  typedElements,
} from "@naiad/protocol";
import { fakeHandlers } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpHandler } from "./http-handler.ts";
import type { HttpOptions } from "./http-options.ts";

const NOTE =
  "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape.";

/** Triton's example model: sum and difference of two INT32 rows of 16, batches of up to 8. */
function simpleInfer(request: InferenceRequest): InferenceResponse {
  requireModel(request);
  const [first, second] = request.inputs.map((input): Int32Array => {
    if (input.kind !== "bytes") throw new Error("no bytes");
    const prefix = `[request id: ${request.id === "" ? "<id_unknown>" : request.id}] `;
    if (input.shape.length !== 2) {
      throw new InferenceError("INVALID_ARG", `${prefix}unexpected shape for input '${input.name}'. ${NOTE}`);
    }
    if ((input.shape[0] ?? 0) > 8) {
      throw new InferenceError(
        "INVALID_ARG",
        `${prefix}inference request batch-size must be <= 8 for 'simple'`,
      );
    }
    if (input.datatype !== "INT32") {
      throw new InferenceError(
        "INVALID_ARG",
        `${prefix}inference input '${input.name}' data-type is '${input.datatype}', but model 'simple' expects 'INT32'`,
      );
    }
    return typedElements("INT32", input.bytes);
  });
  if (first === undefined || second === undefined) throw new InferenceError("INVALID_ARG", "two inputs");
  const { shape } = request.inputs[0] ?? { shape: [] };
  const output = (name: string, values: Int32Array): BytesTensor => {
    return { kind: "bytes", name, datatype: "INT32", shape, bytes: bytesOf(values) };
  };
  return {
    modelName: "simple",
    modelVersion: "1",
    id: request.id,
    parameters: {},
    outputs: [
      output(
        "OUTPUT0",
        first.map((value, index) => value + (second[index] ?? 0)),
      ),
      output(
        "OUTPUT1",
        first.map((value, index) => value - (second[index] ?? 0)),
      ),
    ],
  };
}

function requireModel({ modelName }: ModelReference): void {
  if (modelName === "simple") return;
  throw new InferenceError("NOT_FOUND", `Request for unknown model: '${modelName}' is not found`);
}

interface Model {
  readonly infer?: (request: InferenceRequest) => InferenceResponse;
  readonly config?: JsonObject;
  readonly inputs?: ModelMetadata["inputs"];
}

function options({ infer = simpleInfer, config, inputs = [] }: Model): HttpOptions {
  const handlers = fakeHandlers({
    modelMetadata: async (reference) => {
      await Promise.resolve();
      requireModel(reference);
      return { name: "simple", versions: ["1"], platform: "", inputs, outputs: [] };
    },
    modelConfig: async (reference) => {
      await Promise.resolve();
      requireModel(reference);
      return config ?? { name: "simple", max_batch_size: 8 };
    },
    modelInfer: async (request) => {
      await Promise.resolve();
      return infer(request);
    },
  });
  return { handlers, maxInputSize: 10_000 };
}

interface Exchange {
  readonly target?: string;
  readonly body: string | Uint8Array;
  readonly headers?: HeaderList;
}

function send(settings: HttpOptions, exchange: Exchange): Promise<ExchangeResponse> {
  const { target = "/v2/models/simple/infer", body, headers = [] } = exchange;
  return createHttpHandler(settings)({
    method: "POST",
    rawTarget: target,
    headers,
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    signal: new AbortController().signal,
  });
}

function bytesIn(response: ExchangeResponse): Uint8Array {
  if (response.body instanceof Uint8Array) return response.body;
  throw new Error("the body comes in pieces");
}

async function answer(
  settings: HttpOptions,
  exchange: Exchange,
): Promise<readonly [status: number, text: string]> {
  const response = await send(settings, exchange);
  expect(headerValue(response.headers, "content-type")).toBe("application/json");
  expect(headerValue(response.headers, "content-length")).toBe(String(bytesIn(response).length));
  return [response.status, new TextDecoder().decode(bytesIn(response))];
}

const COUNTING = Array.from({ length: 16 }, (_, index) => index);
const ONES = COUNTING.map(() => 1);

interface SimpleInput {
  readonly shape?: readonly number[];
  readonly datatype?: string;
  readonly data?: readonly number[];
}

function simpleBody({ shape = [1, 16], datatype = "INT32", data = COUNTING }: SimpleInput = {}): string {
  return JSON.stringify({
    inputs: [
      { name: "INPUT0", shape, datatype, data },
      { name: "INPUT1", shape: [1, 16], datatype: "INT32", data: ONES },
    ],
  });
}

describe("the minimal exchange with the model simple", () => {
  it("answers sum and difference", async () => {
    expect(await answer(options({}), { body: simpleBody() })).toEqual([
      200,
      '{"model_name":"simple","model_version":"1","outputs":[' +
        '{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]},' +
        '{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"data":[-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]}]}',
    ]);
  });

  const nine = Array.from({ length: 144 }, () => 1);
  it.each<[string, string, number, string]>([
    [
      "shape [16]",
      simpleBody({ shape: [16] }),
      400,
      `[request id: <id_unknown>] unexpected shape for input 'INPUT0'. ${NOTE}`,
    ],
    [
      "shape [9,16]",
      simpleBody({ shape: [9, 16], data: nine }),
      400,
      "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
    ],
    [
      "datatype FP32",
      simpleBody({ datatype: "FP32" }),
      400,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'simple' expects 'INT32'",
    ],
    [
      "15 elements",
      simpleBody({ data: COUNTING.slice(1) }),
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    ["body {", "{", 500, "failed to parse the request JSON buffer: Missing a name for object member. at 1"],
  ])("%s", async (_name, body, status, error) => {
    expect(await answer(options({}), { body })).toEqual([status, JSON.stringify({ error })]);
  });

  it.each([simpleBody(), "{"])("does not find an unknown model, whatever the body", async (body) => {
    expect(await answer(options({}), { target: "/v2/models/other/infer", body })).toEqual([
      404,
      '{"error":"Request for unknown model: \'other\' is not found"}',
    ]);
  });

  it("travels in binary", async () => {
    const shape = '"shape":[1,16],"datatype":"INT32","parameters":{"binary_data_size":64}';
    const json = new TextEncoder().encode(
      `{"id":"7","inputs":[{"name":"INPUT0",${shape}},{"name":"INPUT1",${shape}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`,
    );
    const body = new Uint8Array([
      ...json,
      ...bytesOf(Int32Array.from(COUNTING)),
      ...bytesOf(Int32Array.from(ONES)),
    ]);
    const headers: HeaderList = [["inference-header-content-length", String(json.length)]];
    const response = await send(options({}), { body, headers });
    expect(response.status).toBe(200);
    expect(headerValue(response.headers, "content-type")).toBe("application/octet-stream");
    const headerLength = Number(headerValue(response.headers, "inference-header-content-length"));
    expect(new TextDecoder().decode(bytesIn(response).subarray(0, headerLength))).toBe(
      '{"id":"7","model_name":"simple","model_version":"1","outputs":[' +
        '{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},' +
        '{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"data":[-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]}]}',
    );
    const sum = typedElements("INT32", bytesIn(response).subarray(headerLength));
    expect(Array.from(sum)).toEqual(COUNTING.map((value) => value + 1));
  });
});

function echoModel(request: InferenceRequest): InferenceResponse {
  const { modelName, id, inputs } = request;
  return { modelName, modelVersion: "1", id, parameters: {}, outputs: inputs };
}

describe("headers", () => {
  it.each([
    ["x", "Unable to parse Inference-Header-Content-Length, got: x"],
    ["-1", "inference header size should be in range (0, 13), got: -1"],
    ["14", "inference header size should be in range (0, 13), got: 14"],
  ])("length %s is refused", async (length, error) => {
    const headers: HeaderList = [["inference-header-content-length", length]];
    expect(await answer(options({}), { body: '{"inputs":[]}', headers })).toEqual([
      400,
      JSON.stringify({ error }),
    ]);
  });

  it("names JSON alone where all binary outputs are empty", async () => {
    const body =
      '{"inputs":[{"name":"x","shape":[0],"datatype":"FP32","data":[]}],"parameters":{"binary_data_output":true}}';
    const response = await send(options({ infer: echoModel }), { body });
    expect(headerValue(response.headers, "content-type")).toBe("application/json");
    expect(headerValue(response.headers, "inference-header-content-length")).toBeUndefined();
    expect(new TextDecoder().decode(bytesIn(response))).toBe(
      '{"model_name":"simple","model_version":"1","outputs":[{"name":"x","datatype":"FP32","shape":[0],"parameters":{"binary_data_size":0}}]}',
    );
  });

  it("refuse a transaction policy that HTTP cannot serve before they look at the body", async () => {
    const settings = options({ config: { model_transaction_policy: { decoupled: true } } });
    expect(await answer(settings, { body: "{" })).toEqual([
      501,
      '{"error":"HTTP end point doesn\'t support models with decoupled transaction policy"}',
    ]);
  });
});

describe("compression", () => {
  const reverse: HttpOptions["decompress"] = (encoding, bytes, maxByteSize) => {
    expect(["gzip", "deflate"]).toContain(encoding);
    expect(maxByteSize).toBe(10_000);
    return Promise.resolve(bytes.toReversed());
  };
  const packed = new TextEncoder().encode(simpleBody()).toReversed();

  it.each(["gzip", "deflate"])("unpacks %s", async (encoding) => {
    const settings = { ...options({}), decompress: reverse };
    const response = await send(settings, { body: packed, headers: [["content-encoding", encoding]] });
    expect(response.status).toBe(200);
  });

  it("has nothing to unpack in an empty body", async () => {
    const settings = { ...options({}), decompress: reverse };
    expect(await answer(settings, { body: "", headers: [["content-encoding", "gzip"]] })).toEqual([
      400,
      '{"error":"nothing to be decompressed"}',
    ]);
  });

  it.each([
    ["br", reverse],
    ["gzip", undefined],
  ])("does not know %s here", async (encoding, decompress) => {
    const settings: HttpOptions = { ...options({}), ...(decompress !== undefined && { decompress }) };
    const headers: HeaderList = [["content-encoding", encoding]];
    const response = await send(settings, { body: simpleBody(), headers });
    expect(response.status).toBe(501);
    expect(new TextDecoder().decode(bytesIn(response))).toBe('{"error":"Unsupported compression type"}');
    expect(headerValue(response.headers, "accept-encoding")).toBe("gzip, deflate");
    const unknown = await send(settings, { target: "/v2/models/other/infer", body: "", headers });
    expect(unknown.status).toBe(404);
  });

  it("takes identity for nothing", async () => {
    const headers: HeaderList = [["content-encoding", "identity"]];
    expect((await send(options({}), { body: simpleBody(), headers })).status).toBe(200);
  });
});

describe("raw bodies", () => {
  const headers: HeaderList = [["inference-header-content-length", "0"]];

  it("are the only input", async () => {
    const settings = options({
      infer: echoModel,
      inputs: [{ name: "x", datatype: "FP32", shape: [-1, -1] }],
    });
    const response = await send(settings, { body: new Uint8Array(8), headers });
    const headerLength = Number(headerValue(response.headers, "inference-header-content-length"));
    expect(new TextDecoder().decode(bytesIn(response).subarray(0, headerLength))).toBe(
      '{"model_name":"simple","model_version":"1","outputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}',
    );
  });

  it("may be empty, with or without the header", async () => {
    const settings = options({
      infer: echoModel,
      inputs: [{ name: "x", datatype: "FP32", shape: [-1, -1] }],
    });
    for (const given of [headers, []]) {
      const [status, text] = await answer(settings, { body: "", headers: given });
      expect([status, text]).toEqual([
        200,
        '{"model_name":"simple","model_version":"1","outputs":[{"name":"x","datatype":"FP32","shape":[1,0],"parameters":{"binary_data_size":0}}]}',
      ]);
    }
  });

  it("need a model with one input that exists", async () => {
    expect(await answer(options({}), { body: "x", headers })).toEqual([
      400,
      '{"error":"[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 0 inputs in \'simple\' model configuration"}',
    ]);
    expect(await answer(options({}), { target: "/v2/models/other/infer", body: "x", headers })).toEqual([
      404,
      '{"error":"Request for unknown model: \'other\' is not found"}',
    ]);
  });
});

describe("classification", () => {
  const classes = (request: InferenceRequest): InferenceResponse => {
    expect(request.outputs).toEqual([{ name: "y", classCount: 1 }, { name: "z" }]);
    const bytes = encodeBytesElements(["0.750000:1:dog", "2.000000:1:dog"]);
    return {
      modelName: "simple",
      modelVersion: "1",
      id: "",
      parameters: {},
      outputs: [{ kind: "bytes", datatype: "BYTES", shape: [2, 1], name: "y", bytes }],
    };
  };
  const body = (binary: string): string =>
    `{"inputs":[],"outputs":[{"name":"y","parameters":{"classification":1,"binary_data":${binary}}},{"name":"z"}]}`;

  it("is asked of the server, and travels as strings", async () => {
    expect(await answer(options({ infer: classes }), { body: body("false") })).toEqual([
      200,
      '{"model_name":"simple","model_version":"1","outputs":[' +
        '{"name":"y","datatype":"BYTES","shape":[2,1],"data":["0.750000:1:dog","2.000000:1:dog"]}]}',
    ]);
  });

  it("travels in binary", async () => {
    const response = await send(options({ infer: classes }), { body: body("true") });
    const headerLength = Number(headerValue(response.headers, "inference-header-content-length"));
    expect(bytesIn(response).slice(headerLength)).toEqual(
      encodeBytesElements(["0.750000:1:dog", "2.000000:1:dog"]),
    );
  });
});
