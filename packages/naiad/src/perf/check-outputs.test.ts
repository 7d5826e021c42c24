import type { BytesTensor, Datatype } from "@naiad/protocol";
import { encodeBytesElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { checkOutputs } from "./check-outputs.ts";

function tensor(name: string, datatype: Datatype, bytes: Uint8Array): BytesTensor {
  return { kind: "bytes", name, datatype, shape: [1], bytes };
}

function int32(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Int32Array.from(values).buffer);
}

describe("checkOutputs", () => {
  it("is content with equal outputs, and looks at no others", () => {
    const answered = [tensor("A", "INT32", int32(1, 2)), tensor("B", "INT32", int32(9))];
    expect(() => {
      checkOutputs(answered, [tensor("A", "INT32", int32(1, 2))]);
    }).not.toThrow();
  });

  it("tells which element is another, wherever a body had it", () => {
    const body = Buffer.alloc(9);
    body.set(int32(1, 5), 1);
    const answered = [tensor("A", "INT32", body.subarray(1))];
    expect(() => {
      checkOutputs(answered, [tensor("A", "INT32", int32(1, 2))]);
    }).toThrow("Output doesn't match expected output: output 'A' is 5 at element 1, and must be 2");
  });

  it("tells values of floats, and their bytes where the values look the same", () => {
    const floats = (...values: readonly number[]) => new Uint8Array(Float32Array.from(values).buffer);
    const halves = (...bits: readonly number[]) => new Uint8Array(Uint16Array.from(bits).buffer);
    const check = (datatype: Datatype, given: Uint8Array, wanted: Uint8Array) => () => {
      checkOutputs([tensor("F", datatype, given)], [tensor("F", datatype, wanted)]);
    };
    expect(check("FP32", floats(1, 1, 3), floats(1, 1, 3.5))).toThrow("is 3 at element 2, and must be 3.5");
    expect(check("FP16", halves(0x3c00, 0x4000), halves(0x3c00, 0x4200))).toThrow(
      "is 2 at element 1, and must be 3",
    );
    expect(check("BF16", halves(0x3f80), halves(0x4000))).toThrow("is 1 at element 0, and must be 2");
    expect(check("FP32", floats(0), floats(-0))).toThrow(
      "is 0 (bytes 0 0 0 0) at element 0, and must be 0 (bytes 0 0 0 128)",
    );
  });

  it("tells of strings, of sizes and of what is missing", () => {
    const strings = (...texts: readonly string[]) => tensor("S", "BYTES", encodeBytesElements(texts));
    const check = (answered: readonly BytesTensor[], wanted: BytesTensor) => () => {
      checkOutputs(answered, [wanted]);
    };
    expect(check([strings("a", "b")], strings("a", "c"))).toThrow("is b at element 1, and must be c");
    expect(check([strings("a")], strings("ab"))).toThrow("has 5 bytes, and must have 6");
    expect(check([], strings("a"))).toThrow("there is no output 'S'");
  });
});
