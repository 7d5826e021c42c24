import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteWriter } from "./byte-writer.ts";
import { bytesOf } from "./elements.ts";
import { writeJsonData } from "./write-json-data.ts";

function written(datatype: "INT64" | "UINT64", elements: BigInt64Array | BigUint64Array): string {
  const writer = new ByteWriter(0);
  writeJsonData(writer, {
    kind: "bytes",
    name: "x",
    datatype,
    shape: [elements.length],
    bytes: bytesOf(elements),
  });
  return new TextDecoder().decode(writer.view());
}

describe("writeJsonData", () => {
  it("writes 64-bit integers exactly, whatever their size", () => {
    // Around every power of two and of ten, where the roads of the writer meet.
    const exponent = fc.oneof(
      fc.nat({ max: 62 }).map((power) => 2n ** BigInt(power)),
      fc.nat({ max: 18 }).map((power) => 10n ** BigInt(power)),
    );
    const element = fc
      .tuple(exponent, fc.bigInt({ min: -2n, max: 2n }), fc.constantFrom(1n, -1n))
      .map(([base, offset, sign]) => sign * (base + offset));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(element, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))),
        (values) => {
          expect(written("INT64", BigInt64Array.from(values))).toBe(`[${values.join(",")}]`);
          const unsigned = BigUint64Array.from(values);
          expect(written("UINT64", unsigned)).toBe(`[${unsigned.join(",")}]`);
        },
      ),
      { seed: 3 },
    );
  });

  it("writes more than one piece at a time", () => {
    const values = BigInt64Array.from(
      { length: 10_000 },
      (_, index) => BigInt(index) * (index % 2 === 0 ? 1n : -1_000_000_007n),
    );
    expect(written("INT64", values)).toBe(`[${values.join(",")}]`);
  });

  it("writes what does not lie at a multiple of eight", () => {
    const bytes = new Uint8Array(1 + 16);
    bytes.set(bytesOf(BigInt64Array.of(-1n, 2n ** 60n)), 1);
    const writer = new ByteWriter(0);
    writeJsonData(writer, {
      kind: "bytes",
      name: "x",
      datatype: "INT64",
      shape: [2],
      bytes: bytes.subarray(1),
    });
    expect(new TextDecoder().decode(writer.view())).toBe(`[-1,${String(2n ** 60n)}]`);
  });
});
