import { describe, expect, it } from "vitest";
import { parseRequestRateLimit } from "./request-rate-limit.ts";

describe("parseRequestRateLimit", () => {
  it.each([
    ["off", { kind: "none" }],
    ["20", { kind: "rate", requestsPerSecond: 20, burst: 20 }],
    ["2.5", { kind: "rate", requestsPerSecond: 2.5, burst: 3 }],
    ["0.1", { kind: "rate", requestsPerSecond: 0.1, burst: 1 }],
    ["100:5", { kind: "rate", requestsPerSecond: 100, burst: 5 }],
  ])("reads %s", (text, limit) => {
    expect(parseRequestRateLimit(text)).toEqual(limit);
  });

  it.each(["", "0", "0.0:1", "5:0", "-1", "1e3", "5:1.5", "5:", ":5", "5/s", " 5"])(
    "refuses '%s'",
    (text) => {
      expect(() => parseRequestRateLimit(text)).toThrow(
        `request rate limit '${text}' is neither 'off' nor of the form <requests per second>[:<burst>]`,
      );
    },
  );
});
