import { describe, expect, it } from "vitest";
import { accessLogLine } from "./access-log.ts";

describe("accessLogLine", () => {
  it("is one line whatever stands in the request", () => {
    expect(
      accessLogLine({
        remoteAddress: "::1",
        method: "GET",
        rawTarget: '/a"b\n',
        httpVersion: "1.1",
        status: 200,
        bodyBytes: 7,
        startedMs: Date.UTC(2026, 0, 2),
        durationMs: 1.25,
      }),
    ).toBe('::1 - - [2026-01-02T00:00:00.000Z] "GET /a\\x22b\\x0a HTTP/1.1" 200 7 1.3');
  });
});
