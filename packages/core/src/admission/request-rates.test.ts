import { parseConfigText } from "@naiad/model-config";
import type { RequestRateLimit } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { RequestRates } from "./request-rates.ts";
import { requestRatesOf } from "./request-rates.ts";

const NONE: RequestRateLimit = { kind: "none" };
const TEN: RequestRateLimit = { kind: "rate", requestsPerSecond: 10, burst: 10 };

function read(parameters: Readonly<Record<string, string>>, otherwise = NONE, more = ""): RequestRates {
  const texts = Object.entries(parameters).map(
    ([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`,
  );
  const config = parseConfigText(`name: "m" ${more} ${texts.join(" ")}`, { fileName: "config.pbtxt" });
  return requestRatesOf(config, otherwise);
}

describe("requestRatesOf", () => {
  it("is what the server says where the model says nothing", () => {
    expect(read({}, TEN)).toEqual({ model: TEN, levels: new Map() });
    expect(read({})).toEqual({ model: undefined, levels: new Map() });
  });

  it("is what the model says, also that there is no limit", () => {
    const rate = { kind: "rate", requestsPerSecond: 2, burst: 1 };
    expect(read({ request_rate_limit: "2:1" }, TEN).model).toEqual(rate);
    expect(read({ request_rate_limit: "off" }, TEN).model).toBeUndefined();
  });

  it("limits priority levels by themselves", () => {
    const { model, levels } = read(
      { request_rate_limit_priority_2: "5", request_rate_limit_priority_1: "off" },
      TEN,
      "dynamic_batching { priority_levels: 2 default_priority_level: 1 }",
    );
    expect(model).toEqual(TEN);
    expect([...levels]).toEqual([[2, { kind: "rate", requestsPerSecond: 5, burst: 5 }]]);
  });

  it.each([
    [
      "request_rate_limit",
      "fast",
      "parameter 'request_rate_limit' of model 'm': request rate limit 'fast' is neither",
    ],
    [
      "request_rate_limit_priority_1",
      "5",
      "a priority level that the model does not have: its priority_levels is 0",
    ],
    ["request_rate_limit_priority_0", "5", "a priority level that the model does not have"],
  ])("refuses %s: %s", (key, value, text) => {
    expect(() => read({ [key]: value })).toThrow(text);
  });
});
