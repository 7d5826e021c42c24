import { describe, expect, it } from "vitest";
import { InferenceError } from "./status.ts";

describe("InferenceError", () => {
  it("crosses contexts as plain data, with the time after which to try again where there is one", () => {
    for (const retryAfterSecs of [undefined, 1.5]) {
      const error = new InferenceError("UNAVAILABLE", "too fast", { retryAfterSecs });
      const wire = structuredClone(error.toWire());
      expect(Object.hasOwn(wire, "retryAfterSecs")).toBe(retryAfterSecs !== undefined);
      expect(InferenceError.from(wire)).toMatchObject({
        code: "UNAVAILABLE",
        message: "too fast",
        retryAfterSecs,
      });
    }
  });

  it("does not take just anything for a time", () => {
    const thrown = { code: "UNAVAILABLE", message: "x", retryAfterSecs: "soon" };
    expect(InferenceError.from(thrown).retryAfterSecs).toBeUndefined();
  });
});
