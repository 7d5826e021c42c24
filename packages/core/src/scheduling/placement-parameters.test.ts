import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { isIsolated, threadCountParameter, verifyParameter } from "./placement-parameters.ts";

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

  it("isolate_worker is true or not there", () => {
    expect(isIsolated(configOf("isolate_worker", "true"))).toBe(true);
    expect(isIsolated(configOf("isolate_worker", "no"))).toBe(false);
  });
});
