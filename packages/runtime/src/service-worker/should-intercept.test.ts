import { describe, expect, it } from "vitest";
import { shouldIntercept } from "./should-intercept.ts";

const ROOT = { origin: "https://example.test", base: "/", metrics: "intercepted" } as const;
const APP = { ...ROOT, base: "/app/" };

describe("shouldIntercept", () => {
  it.each([
    ["https://example.test/v2", "/v2"],
    ["https://example.test/v2/", "/v2/"],
    ["https://example.test/v2?x=1", "/v2?x=1"],
    ["https://example.test/v2/health/ready", "/v2/health/ready"],
    ["https://example.test/v2/models/a%2Fb%20c/infer", "/v2/models/a%2Fb%20c/infer"],
    ["https://example.test/v2/models/m/infer?x=%23&y=a/b#part?", "/v2/models/m/infer?x=%23&y=a/b"],
    ["https://example.test/v2//models", "/v2//models"],
    ["https://example.test/v2-files/abc/1/model.js", "/v2-files/abc/1/model.js"],
    [
      "https://example.test/inference.GRPCInferenceService/ModelInfer",
      "/inference.GRPCInferenceService/ModelInfer",
    ],
    ["https://example.test/grpc.health.v1.Health/Check?a", "/grpc.health.v1.Health/Check?a"],
    ["https://example.test/metrics", "/metrics"],
    ["https://example.test/metrics/", "/metrics/"],
    ["https://example.test/metrics?x=/v2#y", "/metrics?x=/v2"],
  ])("takes %s", (url, rawTarget) => {
    expect(shouldIntercept({ url }, ROOT)).toEqual({ kind: "forward", rawTarget });
  });

  it.each([
    ["https://example.test/"],
    ["https://example.test/v20/models"],
    ["https://example.test/v2.html"],
    ["https://example.test/v2-files"],
    ["https://example.test/v2-filesystem/a"],
    ["https://example.test/V2/models"],
    ["https://example.test/inference.GRPCInferenceService"],
    ["https://example.test/app/inference.GRPCInferenceService/ModelInfer"],
    ["https://example.test/metrics/today"],
    ["https://example.test/metrics.html"],
    ["https://example.test/app/metrics"],
    ["https://example.test/app/v2/models"],
    ["https://example.test/x#/v2/models"],
    ["https://example.test/x?/v2/models"],
    ["https://example.test.evil/v2/models"],
    ["https://example.test:8443/v2/models"],
    ["http://example.test/v2/models"],
    ["https://other.test/v2/models"],
    ["data:text/plain,/v2/models"],
  ])("leaves %s alone", (url) => {
    expect(shouldIntercept({ url }, ROOT)).toEqual({ kind: "pass" });
  });

  it("leaves the metrics to an application that has such a page itself", () => {
    const scope = { ...ROOT, metrics: "left alone" } as const;
    expect(shouldIntercept({ url: "https://example.test/metrics" }, scope)).toEqual({ kind: "pass" });
    expect(shouldIntercept({ url: "https://example.test/v2" }, scope)).toMatchObject({ kind: "forward" });
  });

  it.each([
    ["https://example.test/app/metrics", "/metrics"],
    ["https://example.test/metrics", undefined],
    ["https://example.test/app/v2/models?a#b", "/v2/models?a"],
    ["https://example.test/app/v2", "/v2"],
    ["https://example.test/v2/models", undefined],
    ["https://example.test/app/", undefined],
    ["https://example.test/application/v2", undefined],
  ])("under the base /app/: %s", (url, rawTarget) => {
    const expected = rawTarget === undefined ? { kind: "pass" } : { kind: "forward", rawTarget };
    expect(shouldIntercept({ url }, APP)).toEqual(expected);
  });
});
