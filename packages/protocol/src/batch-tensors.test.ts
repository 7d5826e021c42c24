import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  gatherInputs,
  scatterLikeInput,
  scatterOutputs,
  selectOutputs,
  shapeLikeInput,
} from "./batch-tensors.ts";
import { bytesOf, encodeBytesElements } from "./elements.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";

function int8(name: string, shape: readonly number[], ...values: number[]): BytesTensor {
  return { kind: "bytes", name, datatype: "INT8", shape, bytes: bytesOf(Int8Array.from(values)) };
}

function strings(name: string, shape: readonly number[], ...values: string[]): BytesTensor {
  return { kind: "bytes", name, datatype: "BYTES", shape, bytes: encodeBytesElements(values) };
}

describe("gatherInputs", () => {
  it("gives one request its own tensors", () => {
    const inputs = [int8("x", [2], 1, 2)];
    expect(gatherInputs([inputs])).toBe(inputs);
  });

  it("joins by name along the first dimension", () => {
    const gathered = gatherInputs([
      [int8("x", [1, 2], 1, 2), strings("s", [1], "a")],
      [strings("s", [2], "bc", ""), int8("x", [2, 2], 3, 4, 5, 6)],
      [int8("x", [0, 2]), strings("s", [0])],
    ]);
    expect(gathered).toEqual([int8("x", [3, 2], 1, 2, 3, 4, 5, 6), strings("s", [3], "a", "bc", "")]);
    expect(gathered[0]?.bytes.buffer.byteLength).toBe(6);
  });

  it.each<[string, BytesTensor]>([
    ["lacks the input 'x'", int8("y", [1, 2], 1, 2)],
    ["differ in datatype or shape of the input 'x'", { ...int8("x", [1, 2], 1, 2), datatype: "UINT8" }],
    ["differ in datatype or shape of the input 'x'", int8("x", [1, 3], 1, 2, 3)],
    ["differ in datatype or shape of the input 'x'", int8("x", [1], 1)],
  ])("is no place for requests that do not match: %s", (message, other) => {
    expect(() => gatherInputs([[int8("x", [1, 2], 1, 2)], [other]])).toThrow(message);
  });

  it("joins ragged inputs into one list, whatever their shapes", () => {
    const gathered = gatherInputs(
      [
        [int8("x", [1, 2], 1, 2), strings("s", [1, 1], "a"), int8("n", [1], 7)],
        [int8("x", [2, 0]), strings("s", [1, 2], "bc", ""), int8("n", [2], 8, 9)],
        [int8("x", [1, 3, 1], 3, 4, 5), strings("s", [1, 0]), int8("n", [1], 10)],
      ],
      new Set(["x", "s"]),
    );
    expect(gathered).toEqual([
      int8("x", [5], 1, 2, 3, 4, 5),
      strings("s", [3], "a", "bc", ""),
      int8("n", [4], 7, 8, 9, 10),
    ]);
  });

  it("does not copy the ragged input of a single request", () => {
    const input = int8("x", [1, 2], 1, 2);
    const [gathered] = gatherInputs([[input]], new Set(["x"]));
    expect(gathered).toEqual(int8("x", [2], 1, 2));
    expect(gathered?.bytes).toBe(input.bytes);
  });

  it("needs a request", () => {
    expect(() => gatherInputs([])).toThrow("at least one request");
  });
});

describe("scatterOutputs", () => {
  const outputs = [int8("y", [3, 2], 1, 2, 3, 4, 5, 6), strings("s", [3], "a", "bc", "")];
  const shares = [
    { rows: 1, outputs: ["y", "s"] },
    { rows: 0, outputs: ["s"] },
    { rows: 2, outputs: ["s", "y"] },
  ];

  it.each(["views", "copies"] as const)("splits by rows as %s", (storage) => {
    const scattered = scatterOutputs(outputs, shares, { storage });
    expect(scattered).toEqual([
      [int8("y", [1, 2], 1, 2), strings("s", [1], "a")],
      [strings("s", [0])],
      [strings("s", [2], "bc", ""), int8("y", [2, 2], 3, 4, 5, 6)],
    ]);
    const isView = scattered[0]?.[0]?.bytes.buffer === outputs[0]?.bytes.buffer;
    expect(isView).toBe(storage === "views");
  });

  it("gives one request the outputs as they are", () => {
    const [only] = scatterOutputs(outputs, [{ rows: 3, outputs: ["s"] }], { storage: "copies" });
    expect(only).toEqual([outputs[1]]);
    expect(only?.[0]).toBe(outputs[1]);
  });

  it("gives nothing to nobody", () => {
    expect(scatterOutputs([int8("y", [0])], [], { storage: "views" })).toEqual([]);
  });

  it.each<[string, BytesTensor, number]>([
    ["expected batch size of atleast 4 in model output, got 3", int8("y", [3], 1, 2, 3), 4],
    ["expected batch size of 2 in model output, got 3", int8("y", [3], 1, 2, 3), 2],
    ["expected batch size of atleast 2 in model output, got a scalar", int8("y", [], 1), 2],
  ])("%s", (message, output, rows) => {
    const full = `failed to split the output tensor 'y' in responses: ${message}`;
    for (const split of [[rows], [1, rows - 1]]) {
      const wanted = split.map((share) => ({ rows: share, outputs: ["y"] }));
      expect(() => scatterOutputs([output], wanted, { storage: "views" })).toThrow(
        new InferenceError("UNSUPPORTED", full),
      );
    }
  });

  it.each([
    [[{ rows: 3, outputs: ["z"] }]],
    [
      [
        { rows: 1, outputs: ["y"] },
        { rows: 2, outputs: ["z"] },
      ],
    ],
  ])("misses an output that the model did not give: %j", (wanted) => {
    expect(() => scatterOutputs(outputs, wanted, { storage: "views" })).toThrow(
      new InferenceError("INTERNAL", "the model did not produce the output 'z'"),
    );
  });

  it.each([
    int8("y", [2, 2], 1, 2, 3),
    int8("y", [2, 2], 1, 2, 3, 4, 5),
    strings("y", [2], "a", "b", "c"),
    strings("y", [2], "a"),
  ])("refuses content %# that does not fit the shape", (output) => {
    const wanted = [
      { rows: 1, outputs: ["y"] },
      { rows: 1, outputs: ["y"] },
    ];
    expect(() => scatterOutputs([output], wanted, { storage: "views" })).toThrow(InferenceError);
  });

  it("undoes a gather", () => {
    const request = fc.record({ rows: fc.nat({ max: 4 }), seed: fc.nat({ max: 100 }) });
    const scenario = fc.record({
      requests: fc.array(request, { minLength: 1, maxLength: 6 }),
      rowShape: fc.array(fc.nat({ max: 3 }), { maxLength: 2 }),
      storage: fc.constantFrom("views" as const, "copies" as const),
    });
    fc.assert(
      fc.property(scenario, ({ requests, rowShape, storage }) => {
        const tensors = requests.map(({ rows, seed }) => {
          const shape = [rows, ...rowShape];
          const values = Array.from({ length: elementCount(shape) }, (_, index) => (seed + index) % 128);
          const texts = values.map((value) => "x".repeat(value % 5));
          return [int8("x", shape, ...values), strings("s", shape, ...texts)];
        });
        const wanted = requests.map(({ rows }) => ({ rows, outputs: ["x", "s"] }));
        expect(scatterOutputs(gatherInputs(tensors), wanted, { storage })).toEqual(tensors);
      }),
      { seed: 1 },
    );
  });
});

describe("selectOutputs", () => {
  it("takes the named ones in their order", () => {
    const outputs = [int8("a", [1], 1), int8("b", [1], 2)];
    expect(selectOutputs(outputs, ["b", "a"])).toEqual([outputs[1], outputs[0]]);
    expect(() => selectOutputs(outputs, ["c"])).toThrow("did not produce the output 'c'");
  });
});

describe("scatterLikeInput", () => {
  const shapes = [
    [1, 2],
    [1, 0],
    [2, 1],
  ];

  it.each(["views", "copies"] as const)("cuts consecutive parts as %s", (storage) => {
    expect(scatterLikeInput(int8("y", [4], 1, 2, 3, 4), shapes, { storage })).toEqual([
      int8("y", [1, 2], 1, 2),
      int8("y", [1, 0]),
      int8("y", [2, 1], 3, 4),
    ]);
    expect(scatterLikeInput(strings("s", [4], "a", "", "bc", "d"), shapes, { storage })).toEqual([
      strings("s", [1, 2], "a", ""),
      strings("s", [1, 0]),
      strings("s", [2, 1], "bc", "d"),
    ]);
  });

  it("leaves the rest alone, and refuses an output that is too short", () => {
    const padded = int8("y", [6], 1, 2, 3, 4, 0, 0);
    expect(scatterLikeInput(padded, shapes, { storage: "views" }).flatMap(({ bytes }) => [...bytes])).toEqual(
      [1, 2, 3, 4],
    );
    expect(() => scatterLikeInput(int8("y", [3], 1, 2, 3), shapes, { storage: "views" })).toThrow(
      "output tensor shape does not match size of output for 'y'",
    );
  });

  it("undoes a ragged gather", () => {
    const shape = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 4 }));
    fc.assert(
      fc.property(fc.array(shape, { minLength: 1, maxLength: 6 }), (all) => {
        let next = 0;
        const inputs = all.map((dims) =>
          int8("x", dims, ...Array.from({ length: elementCount(dims) }, () => (next += 1) % 128)),
        );
        const [gathered] = gatherInputs(
          inputs.map((input) => [input]),
          new Set(["x"]),
        );
        if (gathered === undefined) throw new Error("nothing was gathered");
        expect(scatterLikeInput(gathered, all, { storage: "copies" })).toEqual(inputs);
      }),
      { seed: 38 },
    );
  });
});

describe("shapeLikeInput", () => {
  it("takes open sizes from the input", () => {
    expect(shapeLikeInput([-1, -1], [2, 7])).toEqual([2, 7]);
    expect(shapeLikeInput([-1, 3], [2, 7])).toEqual([2, 3]);
    expect(shapeLikeInput([-1, -1, -1], [2, 7])).toEqual([2, 7, 1]);
  });
});
