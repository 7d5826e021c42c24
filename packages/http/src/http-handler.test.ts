import {
  type ExchangeHandler,
  type ExchangeResponse,
  headerValue,
  type HeaderList,
  InferenceError,
  type OperationHandlers,
  type RepositoryModelLoad,
  type RepositoryModelUnload,
} from "@naiad/protocol";
import { fakeHandlers } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpHandler } from "./http-handler.ts";

interface Exchange {
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: HeaderList;
}

async function send(
  handler: ExchangeHandler,
  rawTarget: string,
  { method = "GET", body = "", headers = [] }: Exchange = {},
): Promise<readonly [status: number, contentType: string | undefined, text: string]> {
  const response = await handler({
    method,
    rawTarget,
    headers,
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    signal: new AbortController().signal,
  });
  const bytes = wholeBody(response);
  expect(headerValue(response.headers, "content-length")).toBe(String(bytes.length));
  return [response.status, headerValue(response.headers, "content-type"), new TextDecoder().decode(bytes)];
}

function wholeBody({ body }: ExchangeResponse): Uint8Array {
  if (body instanceof Uint8Array) return body;
  throw new Error("the body comes in pieces");
}

function handlerWith(given: Partial<OperationHandlers>, maxInputSize = 1000): ExchangeHandler {
  return createHttpHandler({ handlers: fakeHandlers(given), maxInputSize });
}

const JSON_TYPE = "application/json";

describe("routing", () => {
  const handler = handlerWith({ serverLive: () => Promise.resolve({ live: true }) });

  it("ignores the query", async () => {
    expect(await send(handler, "/v2/health/live?x=/v2")).toEqual([200, "text/plain", ""]);
  });

  it.each(["/v2/health/live/", "/v3", "/v2/models/m/versions/x/infer", ""])(
    "%j is not found",
    async (target) => {
      expect(await send(handler, target)).toEqual([404, JSON_TYPE, '{"error":"Not Found"}']);
    },
  );

  it.each([
    ["POST", "/v2/health/live"],
    ["HEAD", "/v2"],
    ["GET", "/v2/models/m/infer"],
    ["OPTIONS", "/v2/models/m/infer"],
    ["get", "/v2"],
    ["GET", "/v2/repository/index"],
    ["POST", "/v2/models/stats"],
    ["POST", "/metrics"],
  ])("%s %s is not allowed", async (method, target) => {
    expect(await send(handler, target, { method })).toEqual([
      405,
      JSON_TYPE,
      '{"error":"Method Not Allowed"}',
    ]);
  });

  it("gives metrics as text of Prometheus' format", async () => {
    const metrics = handlerWith({ serverMetrics: () => Promise.resolve({ text: 'a{b="\u00e4"} 1\n' }) });
    expect(await send(metrics, "/metrics?x=1")).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
      'a{b="\u00e4"} 1\n',
    ]);
  });

  it("marks every response", async () => {
    const marked = createHttpHandler({
      handlers: fakeHandlers({}),
      maxInputSize: 1,
      marker: ["x-served-by", "naiad"],
    });
    const signal = new AbortController().signal;
    const request = { method: "GET", headers: [], body: new Uint8Array(0), signal };
    for (const rawTarget of ["/nowhere", "/v2"]) {
      const response = await marked({ ...request, rawTarget });
      expect(headerValue(response.headers, "x-served-by")).toBe("naiad");
    }
  });

  it("passes the requester's signal on", async () => {
    const signals: AbortSignal[] = [];
    const { signal } = new AbortController();
    const handlers = fakeHandlers({
      serverLive: (_input, context) => {
        signals.push(context.signal);
        return Promise.resolve({ live: true });
      },
    });
    await createHttpHandler({ handlers, maxInputSize: 1 })({
      method: "GET",
      rawTarget: "/v2/health/live",
      headers: [],
      body: new Uint8Array(0),
      signal,
    });
    expect(signals).toEqual([signal]);
  });
});

describe("errors", () => {
  it.each([
    ["INTERNAL", 500],
    ["NOT_FOUND", 404],
    ["UNAVAILABLE", 503],
    ["UNSUPPORTED", 501],
    ["INVALID_ARG", 400],
    ["UNKNOWN", 400],
    ["ALREADY_EXISTS", 400],
    ["CANCELLED", 400],
  ] as const)("%s becomes %i", async (code, status) => {
    const handler = handlerWith({ serverMetadata: () => Promise.reject(new InferenceError(code, 'a "b"')) });
    expect(await send(handler, "/v2")).toEqual([status, JSON_TYPE, '{"error":"a \\"b\\""}']);
  });

  it.each([
    [undefined, undefined],
    [0.001, "1"],
    [2, "2"],
    [2.1, "3"],
  ])("that may pass in %s seconds say so in whole ones: %s", async (retryAfterSecs, header) => {
    const error = new InferenceError("UNAVAILABLE", "too fast", { retryAfterSecs });
    const handler = handlerWith({ modelInfer: () => Promise.reject(error) });
    const { status, headers } = await handler({
      method: "POST",
      rawTarget: "/v2/models/m/infer",
      headers: [],
      body: new TextEncoder().encode('{"inputs":[]}'),
      signal: new AbortController().signal,
    });
    expect([status, headerValue(headers, "retry-after")]).toEqual([503, header]);
  });

  it("of programmers become 500", async () => {
    const handler = handlerWith({
      serverMetadata: () => {
        throw new TypeError("oops");
      },
    });
    expect(await send(handler, "/v2")).toEqual([500, JSON_TYPE, '{"error":"oops"}']);
  });
});

describe("health", () => {
  it.each([
    [true, 200],
    [false, 400],
  ])("live and ready when %s: %i", async (state, status) => {
    const handler = handlerWith({
      serverLive: () => Promise.resolve({ live: state }),
      serverReady: () => Promise.resolve({ ready: state }),
    });
    expect(await send(handler, "/v2/health/live")).toEqual([status, "text/plain", ""]);
    expect(await send(handler, "/v2/health/ready")).toEqual([status, "text/plain", ""]);
  });

  it("says that the server is exiting", async () => {
    const handler = handlerWith({
      serverReady: () => Promise.reject(new InferenceError("UNAVAILABLE", "Server exiting")),
    });
    expect(await send(handler, "/v2/health/ready")).toEqual([503, JSON_TYPE, '{"error":"Server exiting"}']);
  });

  it("says whether a model is ready", async () => {
    const handler = handlerWith({
      modelReady: ({ modelName, modelVersion }) =>
        Promise.resolve({ ready: `${modelName}${modelVersion}` === "m2" }),
    });
    expect(await send(handler, "/v2/models/m/versions/2/ready")).toEqual([200, "text/plain", ""]);
    expect(await send(handler, "/v2/models/m/ready")).toEqual([
      400,
      JSON_TYPE,
      '{"error":"Model version not ready"}',
    ]);
  });
});

describe("metadata, config and statistics", () => {
  it("come as compact JSON", async () => {
    const handler = handlerWith({
      serverMetadata: () => Promise.resolve({ name: "triton", version: "2.0.0", extensions: ["statistics"] }),
      modelMetadata: ({ modelName }) =>
        Promise.resolve({
          name: modelName,
          versions: ["1"],
          platform: "onnxruntime_onnx",
          inputs: [{ name: "x", datatype: "FP32", shape: [-1, 3] }],
          outputs: [],
        }),
      modelConfig: ({ modelName }) =>
        Promise.resolve({ name: modelName, max_batch_size: 8, big: 2n ** 60n, runtime: "" }),
      modelStatistics: ({ modelName }) =>
        Promise.reject(new InferenceError("INVALID_ARG", `stats of '${modelName}'`)),
    });
    expect(await send(handler, "/v2")).toEqual([
      200,
      JSON_TYPE,
      '{"name":"triton","version":"2.0.0","extensions":["statistics"]}',
    ]);
    expect(await send(handler, "/v2/models/m")).toEqual([
      200,
      JSON_TYPE,
      '{"name":"m","versions":["1"],"platform":"onnxruntime_onnx","inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]}],"outputs":[]}',
    ]);
    expect(await send(handler, "/v2/models/m/config")).toEqual([
      200,
      JSON_TYPE,
      '{"name":"m","max_batch_size":8,"big":1152921504606846976,"runtime":""}',
    ]);
    expect(await send(handler, "/v2/models/stats")).toEqual([400, JSON_TYPE, '{"error":"stats of \'\'"}']);
    expect(await send(handler, "/v2/models/m/stats")).toEqual([400, JSON_TYPE, '{"error":"stats of \'m\'"}']);
  });

  it.each([
    ["/v2/models/a%20b/versions/1", "a b", "1"],
    ["/v2/models/a%2Fb/versions/007", "a/b", "007"],
    ["/v2/models/100%/versions/1", "100%", "1"],
    ["/v2/models/%ff/versions/1", "%ff", "1"],
  ])("%s means the model %j in version %s", async (target, modelName, modelVersion) => {
    const asked: unknown[] = [];
    const handler = handlerWith({
      modelMetadata: (reference) => {
        asked.push(reference);
        return Promise.reject(new InferenceError("NOT_FOUND", "no"));
      },
    });
    await send(handler, target);
    expect(asked).toEqual([{ modelName, modelVersion }]);
  });
});

describe("repository index", () => {
  const asked: boolean[] = [];
  const handler = handlerWith({
    repositoryIndex: ({ ready }) => {
      asked.push(ready);
      return Promise.resolve([
        { name: "a" },
        {
          name: "b",
          version: "1",
          state: "READY",
          reason: "",
          instances: [{ name: "b_0", execution_provider: "wasm", build: "wasm", threads: 1 }],
        },
        { name: "c", version: "", state: "UNAVAILABLE", reason: "unloaded" },
      ]);
    },
  });

  it.each([
    ["", false],
    ["{}", false],
    ["[]", false],
    ['{"ready":true}', true],
  ])("of body %j asks for ready ones: %s", async (body, ready) => {
    const answer = await send(handler, "/v2/repository/any/index", { method: "POST", body });
    expect(answer).toEqual([
      200,
      JSON_TYPE,
      '[{"name":"a"},{"name":"b","version":"1","state":"READY","instances":[{"name":"b_0","execution_provider":"wasm","build":"wasm","threads":1}]},{"name":"c","state":"UNAVAILABLE","reason":"unloaded"}]',
    ]);
    expect(asked.at(-1)).toBe(ready);
  });

  it.each([
    ['{"ready":1}', 400, "Invalid value for 'ready': expected a boolean"],
    ["{", 500, "failed to parse the request JSON buffer: Missing a name for object member. at 1"],
  ])("of body %j is %i", async (body, status, error) => {
    expect(await send(handler, "/v2/repository/index", { method: "POST", body })).toEqual([
      status,
      JSON_TYPE,
      JSON.stringify({ error }),
    ]);
  });
});

describe("load and unload", () => {
  const loads: RepositoryModelLoad[] = [];
  const unloads: RepositoryModelUnload[] = [];
  const handler = handlerWith({
    repositoryModelLoad: (load) => {
      loads.push(load);
      return Promise.resolve({});
    },
    repositoryModelUnload: (unload) => {
      unloads.push(unload);
      return Promise.resolve({});
    },
  });
  const post = (action: string, body: string): ReturnType<typeof send> =>
    send(handler, `/v2/repository/models/m/${action}`, { method: "POST", body });

  it.each<[string, RepositoryModelLoad]>([
    ["", { modelName: "m" }],
    ["{}", { modelName: "m" }],
    ['{"parameters":{}}', { modelName: "m" }],
    [
      '{"parameters":{"config":"{\\"name\\":1}","file:1/model.onnx":"AQID","file:__proto__":"BA=="}}',
      {
        modelName: "m",
        config: '{"name":1}',
        files: Object.fromEntries([
          ["1/model.onnx", Uint8Array.of(1, 2, 3)],
          ["__proto__", Uint8Array.of(4)],
        ]),
      },
    ],
  ])("loads with body %j", async (body, load) => {
    expect(await post("load", body)).toEqual([200, JSON_TYPE, ""]);
    expect(loads.at(-1)).toEqual(load);
  });

  it.each([
    ["", false],
    ['{"parameters":{"unload_dependents":true}}', true],
    ['{"parameters":{"other":1}}', false],
    ['{"parameters":5}', false],
  ])("unloads with body %j, dependents: %s", async (body, unloadDependents) => {
    expect(await post("unload", body)).toEqual([200, JSON_TYPE, ""]);
    expect(unloads.at(-1)).toEqual({ modelName: "m", unloadDependents });
  });

  it.each([
    ["load", '{"parameters":5}', 500, "attempt to get members for non-object"],
    ["load", '{"parameters":{"config":{}}}', 500, "attempt to access JSON non-string as string"],
    ["load", '{"parameters":{"other":5}}', 500, "attempt to access JSON non-string as string"],
    ["load", '{"parameters":{"other":"x"}}', 500, "unexpected error on creating Triton parameter"],
    ["load", "nope", 500, "failed to parse the request JSON buffer: Invalid value. at 1"],
    [
      "load",
      `"${"x".repeat(1000)}"`,
      400,
      "request JSON size of 1002 bytes exceeds the maximum allowed input size of 1000 bytes. Use --http-max-input-size to increase the limit.",
    ],
    [
      "unload",
      '{"parameters":{"unload_dependents":1}}',
      500,
      "Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean",
    ],
  ])("%s of body %# is %i", async (action, body, status, error) => {
    expect(await post(action, body)).toEqual([status, JSON_TYPE, JSON.stringify({ error })]);
  });

  it.each(["load", "unload"])("%s knows no repositories", async (action) => {
    const target = `/v2/repository/r/models/m/${action}`;
    expect(await send(handler, target, { method: "POST" })).toEqual([
      501,
      JSON_TYPE,
      '{"error":"\'repository_name\' specification is not supported"}',
    ]);
  });
});
