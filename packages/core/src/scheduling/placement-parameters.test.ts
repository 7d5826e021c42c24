import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import {
  isIsolated,
  isolationWarning,
  threadCountParameter,
  verifyParameter,
} from "./placement-parameters.ts";

function configOf(key: string, value: string) {
  const text = `name: "m" parameters { key: "${key}" value { string_value: "${value}" } }`;
  return parseConfigText(text, { fileName: "config.pbtxt" });
}

describe("placement parameters", () => {
  it("verify overrides the server's option, and is one of three words", () => {
    expect(verifyParameter(configOf("other", "off"), "auto")).toBe("auto");
    expect(verifyParameter(configOf("verify", "off"), "auto")).toBe("off");
    expect(verifyParameter(configOf("verify", "always"), "off")).toBe("always");
    expect(() => verifyParameter(configOf("verify", "yes"), "auto")).toThrow(
      "parameter 'verify' of model 'm' must be one of auto, always, off, got 'yes'",
    );
  });

  it("intra_op_thread_count is a whole number", () => {
    expect(threadCountParameter(configOf("other", "3"))).toBe(0);
    expect(threadCountParameter(configOf("intra_op_thread_count", "3"))).toBe(3);
    expect(() => threadCountParameter(configOf("intra_op_thread_count", "many"))).toThrow(
      "failed to convert 'many' to integral number",
    );
  });

  it.each([
    ["true", true],
    ["ON", true],
    ["1", true],
    ["False", false],
    ["off", false],
  ])("isolate_worker reads %s as Triton reads booleans", (text, expected) => {
    expect(isIsolated(configOf("isolate_worker", text))).toBe(expected);
    expect(isolationWarning(configOf("isolate_worker", text))).toBeUndefined();
  });

  it("isolate_worker that is no boolean counts as false, which a warning says", () => {
    expect(isIsolated(configOf("other", "true"))).toBe(false);
    expect(isolationWarning(configOf("other", "yes"))).toBeUndefined();
    expect(isIsolated(configOf("isolate_worker", "yes"))).toBe(false);
    expect(isolationWarning(configOf("isolate_worker", "yes"))).toBe(
      "model 'm': parameter 'isolate_worker' is 'yes', neither true nor false: false is used",
    );
  });
});
