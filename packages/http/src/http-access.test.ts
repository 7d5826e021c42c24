import { gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { parseRestrictedApis } from "@naiad/protocol";
import { echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";
import { createHttpHandler } from "./http-handler.ts";

const INFER = "/v2/models/m/infer";
const REQUEST = { inputs: [{ name: "x", shape: [1, 1], datatype: "INT32", data: [7] }] };
const ANSWER =
  '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"INT32","shape":[1,1],"data":[7]}]}';

describe("restricted APIs", () => {
  const startBench = () =>
    createHttpBench({
      models: { m: echoModel() },
      http: {
        restrictedApis: parseRestrictedApis([
          "model-repository,logging:Admin-Key=secret",
          "inference:infer-key=x",
        ]),
      },
    });

  it.each([
    ["POST", "/v2/repository/index", "Admin-Key"],
    ["POST", "/v2/repository/models/m/load", "Admin-Key"],
    ["GET", "/v2/logging", "Admin-Key"],
    ["POST", INFER, "infer-key"],
    ["POST", "/v2/models/m/generate_stream", "infer-key"],
    // The header is asked for before the method is looked at.
    ["GET", INFER, "infer-key"],
  ])("%s %s needs %s", async (method, target, header) => {
    const { send } = await startBench();
    for (const value of [undefined, "other"]) {
      const headers = value === undefined ? [] : [[header.toLowerCase(), value] as const];
      const answer = await send(method, target, undefined, headers);
      expect([answer.status, answer.error]).toEqual([
        403,
        `This API is restricted, expecting header '${header}'`,
      ]);
    }
  });

  it("are open to whoever has the header, and all others to everybody", async () => {
    const { get, post } = await startBench();
    expect((await get("/v2/logging", [["admin-key", "secret"]])).status).toBe(200);
    expect((await post(INFER, REQUEST, [["infer-key", "x"]])).text).toBe(ANSWER);
    expect((await get("/v2/models/m/config")).status).toBe(200);
    expect((await get("/v2/nowhere")).status).toBe(404);
  });
});

describe("forwarded headers", () => {
  async function parametersFor(
    pattern: string,
    headers: readonly (readonly [string, string])[],
    parameters = {},
  ) {
    const { bench, post } = await createHttpBench({
      models: { m: echoModel() },
      http: { headerForwardPattern: pattern },
    });
    const answer = await post(INFER, { ...REQUEST, parameters }, headers);
    return [answer.error, bench.backend.executions[0]?.requests[0]?.parameters];
  }

  it.each([
    ["", {}],
    ["^my", { my_header: "a", "my-other": "b" }],
    ["OTHER", { "my-other": "b" }],
    ["(?i)^x-Id$", { "x-id": "c" }],
    ["nothing", {}],
  ])("%j", async (pattern, expected) => {
    const headers = [
      ["my_header", "a"],
      ["my-other", "b"],
      ["x-id", "c"],
    ] as const;
    expect(await parametersFor(pattern, headers)).toEqual(["", expected]);
  });

  it("stand beside the parameters of the body", async () => {
    expect(await parametersFor("h", [["h", "1"]], { p: 5 })).toEqual(["", { p: 5n, h: "1" }]);
  });

  it("may not have a reserved name", async () => {
    expect(await parametersFor(".*", [["triton_enable_empty_final_response", "true"]])).toEqual([
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
      undefined,
    ]);
  });
});

describe("compressed responses", () => {
  const startBench = (compress: (coding: string, bytes: Uint8Array) => Promise<Uint8Array>) =>
    createHttpBench({ models: { m: echoModel() }, http: { compress } });
  const tag = (coding: string, bytes: Uint8Array) => Promise.resolve(Uint8Array.of(coding.length, ...bytes));

  it("are packed as the request accepts, with the length of the unpacked JSON", async () => {
    const { post } = await startBench(tag);
    const answer = await post(INFER, { ...REQUEST, parameters: { binary_data_output: true } }, [
      ["accept-encoding", "br, deflate;q=0.5, gzip;q=0.7"],
    ]);
    expect(answer.header("content-encoding")).toBe("gzip");
    expect(answer.header("content-length")).toBe(String(answer.bytes.length));
    const headerLength = Number(answer.header("inference-header-content-length"));
    expect(answer.bytes[0]).toBe("gzip".length);
    expect(answer.bytes.length).toBe(1 + headerLength + 4);
  });

  it.each([undefined, "identity", "br"])("are not for %j", async (accepted) => {
    const { post } = await startBench(tag);
    const answer = await post(INFER, REQUEST, accepted === undefined ? [] : [["accept-encoding", accepted]]);
    expect([answer.header("content-encoding"), answer.text]).toEqual([undefined, ANSWER]);
  });

  it("are sent as they are where they cannot be packed, and so are errors and other operations", async () => {
    const { get, post } = await startBench(() => Promise.reject(new Error("no memory")));
    const gzip = [["accept-encoding", "gzip"]] as const;
    expect((await post(INFER, REQUEST, gzip)).text).toBe(ANSWER);
    const packing = await startBench(tag);
    expect((await packing.post(INFER, "{", gzip)).status).toBe(500);
    expect((await packing.get("/v2", gzip)).header("content-encoding")).toBeUndefined();
    expect((await get("/v2", gzip)).status).toBe(200);
  });
});

describe("compressed requests", () => {
  const startBench = () =>
    createHttpBench({
      models: { m: echoModel() },
      http: {
        decompress: (coding, bytes) =>
          Promise.resolve(coding === "gzip" ? gunzipSync(bytes) : inflateSync(bytes)),
      },
    });
  const packed = gzipSync(JSON.stringify(REQUEST));

  it("are unpacked, and answered unpacked", async () => {
    const { post } = await startBench();
    const answer = await post(INFER, packed, [["content-encoding", "gzip"]]);
    expect([answer.status, answer.text]).toEqual([200, ANSWER]);
  });

  it.each([
    ["br", packed, 501, "Unsupported compression type"],
    ["GZIP", packed, 501, "Unsupported compression type"],
    ["gzip", "", 400, "nothing to be decompressed"],
  ])("of coding %s", async (coding, body, status, error) => {
    const { post } = await startBench();
    const answer = await post(INFER, body, [["content-encoding", coding]]);
    expect([answer.status, answer.error]).toEqual([status, error]);
    expect(answer.header("accept-encoding")).toBe(status === 501 ? "gzip, deflate" : undefined);
  });
});

describe("CORS", () => {
  const origin = ["origin", "https://page.test"] as const;
  const startBench = (allowOrigins: "*" | readonly string[]) =>
    createHttpBench({ models: { m: echoModel() }, http: { cors: { allowOrigins } } });

  it("is not there unless asked for", async () => {
    const { send } = await createHttpBench({ models: { m: echoModel() } });
    const preflight = [origin, ["access-control-request-method", "POST"]] as const;
    const answer = await send("OPTIONS", INFER, undefined, preflight);
    expect([answer.status, answer.error]).toEqual([405, "Method Not Allowed"]);
    expect(
      (await send("GET", "/v2", undefined, [origin])).header("access-control-allow-origin"),
    ).toBeUndefined();
  });

  it.each(["*", ["https://page.test"]] as const)("lets a page of %j in", async (allowOrigins) => {
    const { send } = await startBench(allowOrigins);
    const preflight = await send("OPTIONS", INFER, undefined, [
      origin,
      ["access-control-request-method", "POST"],
      ["access-control-request-headers", "inference-header-content-length"],
    ]);
    expect(preflight.status).toBe(204);
    expect(preflight.header("access-control-allow-methods")).toBe("GET, POST");
    expect(preflight.header("access-control-allow-headers")).toBe("inference-header-content-length");
    expect(preflight.header("access-control-max-age")).toBe("600");
    const answer = await send("POST", INFER, REQUEST, [origin]);
    expect(answer.text).toBe(ANSWER);
    for (const { header } of [preflight, answer]) {
      expect(header("access-control-allow-origin")).toBe(allowOrigins === "*" ? "*" : origin[1]);
      expect(header("access-control-expose-headers")).toContain("inference-header-content-length");
      expect(header("access-control-expose-headers")).toContain("retry-after");
      expect(header("vary")).toBe(allowOrigins === "*" ? undefined : "origin");
    }
  });

  it("keeps others out, and unknown paths unknown", async () => {
    const { send } = await startBench(["https://other.test"]);
    const headers = [origin, ["access-control-request-method", "POST"]] as const;
    const answer = await send("OPTIONS", INFER, undefined, headers);
    expect([answer.status, answer.header("access-control-allow-origin")]).toEqual([405, undefined]);
    expect((await send("OPTIONS", "/v3", undefined, headers)).status).toBe(404);
    // Browsers send this without asking first, and only keep the answer from the page.
    for (const [path, body] of [
      [INFER, REQUEST],
      ["/v2/repository/models/m/unload", undefined],
    ] as const) {
      const refused = await send("POST", path, body, [origin, ["content-type", "text/plain"]]);
      expect([refused.status, refused.error]).toEqual([
        403,
        "pages of origin 'https://page.test' may not use this server. Use --http-cors-allow-origin to let them.",
      ]);
    }
    expect((await send("POST", INFER, REQUEST)).text).toBe(ANSWER);
    expect((await send("GET", "/v2", undefined, [origin])).status).toBe(200);
  });

  it("lets pages of its own origin in, a proxy before it or not", async () => {
    const { send } = await startBench([]);
    for (const own of [
      ["host", "page.test"],
      ["sec-fetch-site", "same-origin"],
    ] as const) {
      const answer = await send("POST", INFER, REQUEST, [origin, own]);
      expect([answer.text, answer.header("vary")]).toEqual([ANSWER, undefined]);
    }
    const other = await send("POST", INFER, REQUEST, [origin, ["host", "naiad.test"]]);
    expect(other.status).toBe(403);
  });
});

describe("limits", () => {
  it("of the number of chunks", async () => {
    const { bench } = await createHttpBench();
    const handle = createHttpHandler({ handlers: bench.server, maxInputSize: 10 });
    const send = (chunkCount: number) =>
      handle({
        method: "POST",
        rawTarget: "/v2/repository/index",
        headers: [],
        body: new Uint8Array(0),
        chunkCount,
        signal: new AbortController().signal,
      });
    expect((await send(65_536)).status).toBe(200);
    const refused = await send(65_537);
    expect(refused.status).toBe(400);
    expect(new TextDecoder().decode(refused.body as Uint8Array)).toBe(
      '{"error":"Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks."}',
    );
  });

  it.each([
    [
      "/v2/models/m/infer",
      REQUEST,
      "request JSON size of 69 bytes exceeds the maximum allowed input size of 20 bytes.",
    ],
    ["/v2/logging", { log_info: true, unknown: 1 }, "request JSON size of 29 bytes exceeds"],
    ["/v2/models/m/trace/setting", { trace_rate: "1000000" }, "request JSON size of 24 bytes exceeds"],
    ["/v2/repository/index", { ready: true, unknown: 1 }, "request JSON size of 26 bytes exceeds"],
  ])("of the JSON of %s", async (target, body, error) => {
    const { post } = await createHttpBench({ models: { m: echoModel() }, http: { maxInputSize: 20 } });
    const answer = await post(target, body);
    expect(answer.status).toBe(400);
    expect(answer.error).toContain(error);
    expect(answer.error).toContain("Use --http-max-input-size to increase the limit.");
  });
});
