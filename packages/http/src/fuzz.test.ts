import { gunzipSync, inflateSync } from "node:zlib";
import { InferenceError, parseRestrictedApis } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FuzzRequest } from "../test/arbitrary-requests.ts";
import { binaryRequests, jsonRequests, wholeRequests } from "../test/arbitrary-requests.ts";
import type { Answer, HttpBench } from "../test/http-bench.ts";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel, identityModel } from "../test/models.ts";

/** All three together; `NAIAD_FUZZ_RUNS=200000` is a run for the night, `NAIAD_FUZZ_SEED` another one of it. */
const RUNS = Number(process.env["NAIAD_FUZZ_RUNS"] ?? 5_000);
const SEED = Number(process.env["NAIAD_FUZZ_SEED"] ?? 7);
/** After so many requests a server is replaced, since its log and its executions are kept for tests. */
const REQUESTS_PER_SERVER = 500;

function startServer(): Promise<HttpBench> {
  return createHttpBench({
    models: {
      good: identityModel("INT32", "[2]"),
      numbers: identityModel("FP32", "[-1]"),
      text: identityModel("STRING", "[-1]"),
      batched: identityModel("UINT8", "[1]", { maxBatchSize: 4, config: "dynamic_batching {}" }),
      two: fakeModel({
        inputs: "INPUT0 INT64 [-1]; INPUT1 BOOL [1]",
        outputs: "OUTPUT0 INT64 [-1]; OUTPUT1 BOOL [1]",
      }),
    },
    http: {
      maxInputSize: 4096,
      decompress: (coding, bytes) => unpack(coding, bytes),
      compress: (_coding, bytes) => Promise.resolve(bytes),
      headerForwardPattern: "^x-|^triton",
      restrictedApis: parseRestrictedApis(["statistics:admin-key=secret"]),
      cors: { allowOrigins: ["https://a.test"] },
    },
  });
}

function unpack(coding: "gzip" | "deflate", bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return Promise.resolve(coding === "gzip" ? gunzipSync(bytes) : inflateSync(bytes));
  } catch {
    return Promise.reject(new InferenceError("INVALID_ARG", `failed to decompress the ${coding} body`));
  }
}

const GOOD_BODY = '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[2],"data":[3,-4]}]}';
const GOOD_ANSWER =
  '{"model_name":"good","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[2],"data":[3,-4]}]}';

/** What an engine says about a mistake in this project. */
const MISTAKE =
  /is not a function|Cannot read|undefined|\[object|is not iterable|invariant|unreachable|Maximum call stack/;

function check(request: FuzzRequest, answer: Answer): void {
  expect([200, 204, 400, 403, 404, 405, 500, 501, 503]).toContain(answer.status);
  if (answer.status < 400) return;
  const isEvent = answer.header("content-type")?.startsWith("text/event-stream") === true;
  const isHealth = request.target.endsWith("/ready") || request.target.includes("/health/");
  const cause = isEvent || (isHealth && answer.text === "") ? "told otherwise" : answer.error;
  expect(cause).not.toBe("");
  expect(cause).not.toMatch(MISTAKE);
}

describe.each([
  { name: "JSON bodies", requests: jsonRequests, share: 0.4 },
  { name: "binary bodies", requests: binaryRequests, share: 0.3 },
  { name: "whole requests", requests: wholeRequests, share: 0.3 },
])("fuzzed $name", ({ requests, share }) => {
  const numRuns = Math.ceil(RUNS * share);

  it(
    "are all answered with a cause, and harm no other request",
    async () => {
      let server = await startServer();
      let sent = 0;
      await fc.assert(
        fc.asyncProperty(requests, async (request) => {
          sent += 1;
          if (sent % REQUESTS_PER_SERVER === 0) server = await startServer();
          const { method, target, headers, body } = request;
          check(request, await server.send(method, target, body, headers));
          const good = await server.post("/v2/models/good/infer", GOOD_BODY);
          expect([good.status, good.text]).toEqual([200, GOOD_ANSWER]);
        }),
        { numRuns, seed: SEED },
      );
      expect(sent).toBeGreaterThanOrEqual(numRuns);
    },
    20_000 + 20 * numRuns,
  );
});
