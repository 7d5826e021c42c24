import { describe, expect, it } from "vitest";
import { chooseCoding } from "./content-coding.ts";

describe("chooseCoding", () => {
  it.each([
    [undefined, "identity"],
    ["", "identity"],
    ["gzip", "gzip"],
    ["deflate", "deflate"],
    ["br", "identity"],
    ["*", "identity"],
    ["gzip, deflate", "gzip"],
    ["deflate,gzip", "deflate"],
    ["br, gzip;q=0.5, deflate;q=0.8", "deflate"],
    ["identity;q=0.9, gzip;q=0.9", "identity"],
    ["identity;q=0.5, gzip", "gzip"],
    ["gzip;q=0", "identity"],
    ["gzip;q=much, deflate;q=0.1", "deflate"],
    [";q=1", "identity"],
    ["   gzip;q=1.0", "gzip"],
    ["GZIP", "identity"],
  ])("%j asks for %s", (header, coding) => {
    expect(chooseCoding(header)).toBe(coding);
  });
});
