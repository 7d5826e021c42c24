import { describe, expect, it } from "vitest";
import { nearestName } from "./nearest-name.ts";

describe("nearestName", () => {
  it("finds what is meant, and nothing where nothing is near", () => {
    expect(nearestName("log-verbos", ["log-info", "log-verbose"])).toBe("log-verbose");
    expect(nearestName("strict_readiness", ["strict-readiness"])).toBe("strict-readiness");
    expect(nearestName("modle", ["mode", "model"])).toBe("mode");
    expect(nearestName("modle", ["node2", "model"])).toBe("model");
    expect(nearestName("a", ["model-repository"])).toBeUndefined();
    expect(nearestName("x", [])).toBeUndefined();
  });
});
