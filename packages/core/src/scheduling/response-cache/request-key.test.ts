import type { Tensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ValidRequest } from "../scheduler.ts";
import { requestKey } from "./request-key.ts";

const INPUT = {
  kind: "bytes",
  name: "x",
  datatype: "INT32",
  shape: [1, 2],
  bytes: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
} as const satisfies Tensor;

const REQUEST: ValidRequest = {
  id: "1",
  inputs: [INPUT],
  outputs: ["y"],
  batchSize: 1,
  parameters: {},
  priority: 0,
  timeoutUs: 0,
};

describe("requestKey", () => {
  it.each<[string, Partial<ValidRequest>]>([
    ["id", { id: "2" }],
    ["parameters", { parameters: { temperature: 1 } }],
    ["priority and timeout", { priority: 3, timeoutUs: 5 }],
    ["place of the bytes", { inputs: [{ ...INPUT, bytes: INPUT.bytes.slice() }] }],
  ])("is the same whatever the %s", (_what, change) => {
    expect(requestKey({ ...REQUEST, ...change })).toBe(requestKey(REQUEST));
  });

  it.each<[string, Partial<ValidRequest>]>([
    ["a byte", { inputs: [{ ...INPUT, bytes: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 9) }] }],
    ["the shape", { inputs: [{ ...INPUT, shape: [2, 1] }] }],
    ["the datatype", { inputs: [{ ...INPUT, datatype: "UINT32" }] }],
    ["the name of an input", { inputs: [{ ...INPUT, name: "z" }] }],
    ["the number of inputs", { inputs: [INPUT, { ...INPUT, name: "z" }] }],
    ["the requested outputs", { outputs: ["y", "z"] }],
  ])("is another for %s", (_what, change) => {
    expect(requestKey({ ...REQUEST, ...change })).not.toBe(requestKey(REQUEST));
  });

  it("is another for another order of the outputs, and for one name that looks like two", () => {
    const outputs = [["y", "z"], ["z", "y"], ['y","z'], ["y,z"]];
    expect(new Set(outputs.map((names) => requestKey({ ...REQUEST, outputs: names }))).size).toBe(4);
  });

  it("is not there for what lies on a device", () => {
    const { name, datatype, shape } = INPUT;
    const input: Tensor = { kind: "device", name, datatype, shape, worker: "gpu_0", handle: 1 };
    expect(requestKey({ ...REQUEST, inputs: [input] })).toBeUndefined();
  });
});
