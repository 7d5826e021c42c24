import { describe, expect, it } from "vitest";
import { replayClassOf } from "./replay-class.ts";

describe("replayClassOf", () => {
  it.each([
    ["GET", "/v2/models/m", "pure"],
    ["HEAD", "/v2", "pure"],
    ["POST", "/v2/models/m/infer", "pure"],
    ["POST", "/v2/models/a%2Fb/versions/3/infer?x=1", "pure"],
    ["POST", "/v2/models/m/generate", "pure"],
    ["POST", "/v2/models/m/generate_stream", "pure"],
    ["POST", "/v2/repository/index", "pure"],
    ["POST", "/v2/repository/models/m/load", "control"],
    ["POST", "/v2/repository/models/m/unload?a=b", "control"],
    ["POST", "/v2/repository/r/models/m/load", "control"],
    ["POST", "/v2/models//infer", "control"],
    ["POST", "/v2/logging", "control"],
    ["POST", "/inference.GRPCInferenceService/ModelInfer", "pure"],
    ["POST", "/inference.GRPCInferenceService/ModelStreamInfer", "pure"],
    ["POST", "/inference.GRPCInferenceService/RepositoryModelLoad", "control"],
    ["POST", "/inference.GRPCInferenceService/Unheard", "control"],
    ["POST", "/grpc.health.v1.Health/Check", "pure"],
    ["DELETE", "/v2/models/m/infer", "control"],
  ])("%s %s", (method, target, expected) => {
    expect(replayClassOf(method, target)).toBe(expected);
  });
});
