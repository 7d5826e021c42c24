import { describe, expect, it } from "vitest";
import { createFetchTransport } from "./fetch-transport.ts";
import { createInferenceClient } from "./inference-client.ts";

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Headers;
  readonly body: string;
}

/** A client whose requests all get the same answer. */
function answering(answer: () => Response | Promise<Response>, url = "http://triton.test:8000") {
  const sent: Sent[] = [];
  const transport = createFetchTransport({
    url,
    fetch: async (target, { method, headers, body }) => {
      const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
      sent.push({ url: target, method, headers: new Headers(headers), body: text });
      return await answer();
    },
  });
  return { client: createInferenceClient(transport), sent };
}

const ok =
  (body: BodyInit | null = null, headers: Record<string, string> = {}) =>
  () =>
    new Response(body, { headers });

describe("fetch transport", () => {
  it("asks on Triton's paths, with quoted names", async () => {
    const { client, sent } = answering(ok("{}"), "http://triton.test/some/base//");
    await client.serverLive();
    await client.modelReady("a b/c", { modelVersion: "2" });
    await client.modelConfig("m");
    await client.loadModel("m");
    expect(sent.map(({ method, url }) => `${String(method)} ${url}`)).toEqual([
      "GET http://triton.test/some/base/v2/health/live",
      "GET http://triton.test/some/base/v2/models/a%20b%2Fc/versions/2/ready",
      "GET http://triton.test/some/base/v2/models/m/config",
      "POST http://triton.test/some/base/v2/repository/models/m/load",
    ]);
  });

  it("asks this page's own origin unless told otherwise", async () => {
    const urls: string[] = [];
    const transport = createFetchTransport({
      fetch: (url) => {
        urls.push(url);
        return Promise.resolve(new Response());
      },
    });
    await createInferenceClient(transport).serverReady();
    expect(urls).toEqual(["/v2/health/ready"]);
  });

  it("sends tensors in binary and asks for them so", async () => {
    const { client, sent } = answering(ok('{"model_name":"m","model_version":"1","outputs":[]}'));
    await client.infer({
      modelName: "m",
      inputs: { X: { data: ["abcd"], shape: [1, 1] } },
      outputs: [{ name: "Y", classCount: 2 }],
    });
    const json =
      '{"parameters":{"binary_data_output":true},"inputs":[{"name":"X","datatype":"BYTES","shape":[1,1],' +
      '"parameters":{"binary_data_size":8}}],"outputs":[{"name":"Y","parameters":{"classification":2,"binary_data":true}}]}';
    expect(sent[0]?.body).toBe(`${json}\u0004\0\0\0abcd`);
    expect(sent[0]?.headers.get("inference-header-content-length")).toBe(String(json.length));
  });

  it("sends tensors as JSON to servers that take nothing else", async () => {
    const sent: Sent[] = [];
    const transport = createFetchTransport({
      tensors: "json",
      fetch: (url, { body, headers, method }) => {
        const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
        sent.push({ url, method, headers: new Headers(headers), body: text });
        return Promise.resolve(new Response('{"model_name":"m","model_version":"1","outputs":[]}'));
      },
    });
    await createInferenceClient(transport).infer({
      modelName: "m",
      inputs: { X: { data: Int32Array.of(1, -2), shape: [2] } },
    });
    const [{ body, headers } = { body: "", headers: new Headers() }] = sent;
    expect(body).toBe('{"inputs":[{"name":"X","datatype":"INT32","shape":[2],"data":[1,-2]}]}');
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.has("inference-header-content-length")).toBe(false);
  });

  it("takes an answer in JSON too", async () => {
    const body =
      '{"model_name":"m","model_version":"1","outputs":[{"name":"Y","datatype":"INT64","shape":[1],"data":[9223372036854775807]}]}';
    const { client } = answering(ok(body));
    const result = await client.infer({ modelName: "m", inputs: {} });
    expect(result.output("Y", "INT64").data).toEqual(new BigInt64Array([2n ** 63n - 1n]));
  });

  it("takes binary outputs that lie at odd places of the body", async () => {
    const json =
      '{"model_name":"m","model_version":"1","outputs":[{"name":"Y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}';
    const padded = json.padEnd(json.length + (5 - (json.length % 4)));
    const body = new Blob([padded, new Float32Array([2.5])]);
    const { client } = answering(ok(body, { "inference-header-content-length": String(padded.length) }));
    const result = await client.infer({ modelName: "m", inputs: {} });
    expect(result.output("Y", "FP32").data).toEqual(new Float32Array([2.5]));
  });

  it.each([
    [400, "INVALID_ARG", '{"error":"unexpected inference input \'x\'"}', "unexpected inference input 'x'"],
    [400, "CANCELLED", '{"error":"request was cancelled"}', "request was cancelled"],
    [404, "NOT_FOUND", '{"error":"Not Found"}', "Not Found"],
    [405, "UNSUPPORTED", '{"error":"Method Not Allowed"}', "Method Not Allowed"],
    [500, "INTERNAL", '{"error":"boom"}', "boom"],
    [501, "UNSUPPORTED", '{"error":"no"}', "no"],
    [503, "UNAVAILABLE", '{"error":"Server not ready"}', "Server not ready"],
    [504, "UNAVAILABLE", "<h1>Gateway Timeout</h1>", "<h1>Gateway Timeout</h1>"],
    [403, "UNKNOWN", "", "client received an empty response from the server."],
    [500, "INTERNAL", '{"reason":1}', '{"reason":1}'],
  ])("makes status %i a %s", async (status, code, body, message) => {
    const { client } = answering(() => new Response(body, { status }));
    await expect(client.modelConfig("m")).rejects.toMatchObject({ code, message });
  });

  it.each([
    ["7", 7],
    ["Fri, 31 Jul 2026 12:00:00 GMT", undefined],
    [undefined, undefined],
  ])("tells after how many seconds to try again: Retry-After %s", async (header, retryAfterSecs) => {
    const headers = header === undefined ? {} : { "retry-after": header };
    const { client } = answering(() => new Response('{"error":"x"}', { status: 503, headers }));
    await expect(client.modelConfig("m")).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSecs });
  });

  it.each([
    [
      "a page",
      "<!doctype html><title>app</title>",
      "the answer is not JSON: is there a Triton server at this address?",
    ],
    ["another value", "[]", "unexpected answer of the server: model metadata is no object"],
    ["half an object", '{"name":"m"}', "unexpected answer of the server: 'platform' is no string"],
    ["a wrong member", '{"name":1}', "unexpected answer of the server: 'name' is no string"],
  ])("refuses %s where metadata should be", async (_what, body, message) => {
    const { client } = answering(ok(body));
    await expect(client.modelMetadata("m")).rejects.toMatchObject({ code: "INTERNAL", message });
  });

  it.each(["", '"versions":null,'])(
    "reads metadata of a server that has no versions: %j",
    async (versions) => {
      const { client } = answering(ok(`{"name":"m",${versions}"platform":"","inputs":[],"outputs":[]}`));
      const metadata = { name: "m", versions: [], platform: "", inputs: [], outputs: [] };
      expect(await client.modelMetadata("m")).toEqual(metadata);
    },
  );

  it("refuses an index that is no array, and statistics without names", async () => {
    await expect(answering(ok("{}")).client.repositoryIndex()).rejects.toMatchObject({ code: "INTERNAL" });
    const { client } = answering(ok('{"model_stats":[{}]}'));
    await expect(client.modelStatistics()).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("takes a page with status 200 for no server", async () => {
    const { client } = answering(ok("<!doctype html>", { "content-type": "text/html; charset=utf-8" }));
    expect(await client.serverLive()).toBe(false);
  });

  it("names the address when it cannot be reached", async () => {
    const { client } = answering(() => Promise.reject(new TypeError("Failed to fetch")));
    await expect(client.serverLive()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "GET http://triton.test:8000/v2/health/live: Failed to fetch",
    });
  });

  it("notices an answer that broke off", async () => {
    const { client } = answering(ok('{"name"', { "content-length": "100" }));
    await expect(client.serverMetadata()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "GET http://triton.test:8000/v2: broke off after 7 of 100 bytes",
    });
    const compressed = ok('{"name":"m"}', { "content-length": "5", "content-encoding": "gzip" });
    expect(await answering(compressed).client.modelConfig("m")).toEqual({ name: "m" });
  });

  it.each([
    [null, "the options of createFetchTransport must be an object, but they are null"],
    ["http://localhost", "the options of createFetchTransport must be an object"],
    [{ url: null }, "createFetchTransport's option 'url' must be a string, but it is null"],
    [{ url: new URL("http://a/") }, "'url' must be a string, but it is \"http://a/\""],
    [{ headers: { a: 1 } }, "'headers' must be an object whose values are each a string"],
    [{ fetch: "fetch" }, "'fetch' must be a function"],
    [{ uri: "" }, "createFetchTransport has no option 'uri'"],
  ])("refuses the options %j", (options, text) => {
    expect(() => {
      Reflect.apply(createFetchTransport, undefined, [options]);
    }).toThrow(text);
  });

  it("needs a model's name", async () => {
    const { client, sent } = answering(ok("{}"));
    await expect(client.modelConfig("")).rejects.toMatchObject({ code: "INVALID_ARG" });
    expect(sent).toEqual([]);
  });

  it("encodes a large file", async () => {
    const { client, sent } = answering(ok());
    const bytes = Uint8Array.from({ length: 300_001 }, (_, index) => index % 251);
    await client.loadModel("m", { config: "{}", files: { "1/model.onnx": bytes } });
    const text = sent[0]?.body ?? "";
    const { parameters } = JSON.parse(text) as { readonly parameters: Record<string, string> };
    expect(new Uint8Array(Buffer.from(parameters["file:1/model.onnx"] ?? "", "base64"))).toEqual(bytes);
  });
});
