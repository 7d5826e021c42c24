import { describe, expect, it } from "vitest";
import { parseCacheConfig } from "./cache-config.ts";

describe("parseCacheConfig", () => {
  it.each([
    [[], { kind: "none" }],
    [["local,size=1048576"], { kind: "local", byteSize: 1_048_576 }],
    [["local,size=1", "local,size=2"], { kind: "local", byteSize: 2 }],
    [["local,color=red", "local,size=8"], { kind: "local", byteSize: 8 }],
  ])("reads %j", (texts, expected) => {
    expect(parseCacheConfig(texts)).toEqual(expected);
  });

  it.each([
    [["size=1"], "'size=1' is not of the form <cache name>,<setting>=<value>"],
    [["local,size"], "'local,size' is not of the form"],
    [["local,=1"], "is not of the form"],
    [["local,size="], "is not of the form"],
    [["local,color=red"], "Failed to initialize LocalCache: config didn't contain a valid 'size' field."],
    [["local,size=0"], "'size' is no number of bytes: '0'"],
    [["local,size=1e6"], "'size' is no number of bytes: '1e6'"],
    [["local,size=99999999999999999999"], "'size' is no number of bytes"],
    [["redis,host=localhost"], "unable to find cache 'redis': there is 'local'"],
    [["local,size=8192", "redis,key=value"], "multiple cache configurations are not supported: local, redis"],
  ])("refuses %j", (texts, message) => {
    expect(() => parseCacheConfig(texts)).toThrow(message);
  });
});
