import { describe, expect, it } from "vitest";
import { readTorchCheckpoint } from "./torch-checkpoint.ts";

type Part = string | readonly number[] | Uint8Array;

function bytesOf(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(
    parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : [...part])),
  );
}

const little = (value: number, size: number): readonly number[] =>
  Array.from({ length: size }, (_, index) => (value >> (8 * index)) & 255);
const unicode = (text: string): readonly Part[] => ["X", little(text.length, 4), text];
const small = (value: number): readonly Part[] => ["K", [value]];
const tuple = (values: readonly number[]): readonly Part[] => ["(", ...values.flatMap(small), "t"];
const pickle = (...parts: readonly Part[]): readonly Part[] => [[0x80, 2], ...parts, "."];

interface View {
  readonly type?: string;
  readonly key: string;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** What `torch.save` wrote of one tensor before version 1.6. */
function tensor({ key, offset, shape, strides, type = "FloatStorage" }: View): readonly Part[] {
  const storage = [
    "(",
    ...unicode("storage"),
    `ctorch\n${type}\n`,
    ...unicode(key),
    ...unicode("cpu"),
    ...small(6),
    "NtQ",
  ];
  const hooks = ["ccollections\nOrderedDict\n", ")R"];
  const rest = [...small(offset), ...tuple(shape), ...tuple(strides), [0x89], ...hooks];
  return ["ctorch._utils\n_rebuild_tensor_v2\n", "(", ...storage, ...rest, "tR"];
}

function checkpoint(
  tensors: Readonly<Record<string, View>>,
  storages: Readonly<Record<string, Float32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>>>,
): Uint8Array {
  const entries = Object.entries(tensors).flatMap(([name, view]) => [...unicode(name), ...tensor(view)]);
  return bytesOf([
    ...pickle("M", little(7, 2)),
    ...pickle("M", little(1001, 2)),
    ...pickle("}", "q", [0]),
    ...pickle("ccollections\nOrderedDict\n", ")R", "(", ...entries, "u"),
    ...pickle("]", "(", ...Object.keys(storages).flatMap(unicode), "e"),
    ...Object.values(storages).flatMap((values) => [
      little(values.length, 8).map((byte, index) => (index < 4 ? byte : 0)),
      new Uint8Array(values.buffer),
    ]),
  ]);
}

const SIX = Float32Array.of(0, 1, 2, 3, 4, 5);

describe("readTorchCheckpoint", () => {
  it("reads tensors in row-major order, however they lie in their storage", () => {
    const bytes = checkpoint(
      {
        rows: { key: "7", offset: 0, shape: [2, 3], strides: [3, 1] },
        columns: { key: "7", offset: 0, shape: [3, 2], strides: [1, 3] },
        tail: { key: "7", offset: 4, shape: [2], strides: [1] },
      },
      { "7": SIX },
    );
    const tensors = readTorchCheckpoint(bytes);
    expect(tensors.get("rows")).toEqual({ shape: [2, 3], values: SIX });
    expect(tensors.get("columns")?.values).toEqual(Float32Array.of(0, 3, 1, 4, 2, 5));
    expect(tensors.get("tail")?.values).toEqual(Float32Array.of(4, 5));
  });

  it("leaves out tensors of other types, but not what lies behind them", () => {
    const bytes = checkpoint(
      {
        seen: { type: "LongStorage", key: "1", offset: 0, shape: [2], strides: [1] },
        weights: { key: "2", offset: 0, shape: [6], strides: [1] },
      },
      { "1": BigInt64Array.of(5n, 6n), "2": SIX },
    );
    expect([...readTorchCheckpoint(bytes)]).toEqual([["weights", { shape: [6], values: SIX }]]);
  });

  it("reads from bytes that begin anywhere in their buffer", () => {
    const bytes = checkpoint({ weights: { key: "2", offset: 0, shape: [6], strides: [1] } }, { "2": SIX });
    const shifted = new Uint8Array(bytes.length + 3).subarray(3);
    shifted.set(bytes);
    expect(readTorchCheckpoint(shifted).get("weights")?.values).toEqual(SIX);
  });

  it("calls nothing that a pickle might want it to", () => {
    const bytes = bytesOf(pickle("cos\nsystem\n", "(", ...unicode("echo"), "tR"));
    expect(() => readTorchCheckpoint(bytes)).toThrow("the pickle calls os.system, which is not supported");
  });

  it("refuses instructions that it does not know", () => {
    expect(() => readTorchCheckpoint(bytesOf(["i"]))).toThrow(
      'instruction "i" of the pickle is not supported',
    );
  });
});
