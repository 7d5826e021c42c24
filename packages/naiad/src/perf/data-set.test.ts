import type { BytesTensor, Datatype } from "@naiad/protocol";
import { decodeStringElements, typedElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { DataSetOptions, PerfStep } from "./data-set.ts";
import { createDataSet } from "./data-set.ts";
import { joinInputData, parseInputData } from "./input-data.ts";
import type { PerfModel } from "./perf-model.ts";

function model(
  inputs: Readonly<Record<string, readonly [Datatype, readonly number[], "optional"?]>>,
  maxBatchSize = 8,
): PerfModel {
  return {
    name: "m",
    version: "",
    maxBatchSize,
    inputs: Object.entries(inputs).map(([name, [datatype, shape, optional]]) => ({
      name,
      datatype,
      shape,
      optional: optional !== undefined,
    })),
    outputs: [{ name: "Y", datatype: "INT32", shape: [2] }],
    isSequence: false,
    isDecoupled: false,
    composing: [],
  };
}

const OPTIONS: DataSetOptions = { data: { kind: "zero" }, batchSize: 1, shapes: {}, stringLength: 5 };

function steps(of: PerfModel, options: Partial<DataSetOptions> | string): readonly PerfStep[] {
  const given = typeof options === "string" ? { data: parseInputData(options) } : options;
  return createDataSet(of, { ...OPTIONS, ...given }).streams.flat();
}

function values(tensor: BytesTensor | undefined): readonly unknown[] {
  if (tensor === undefined) return [];
  return tensor.datatype === "BYTES"
    ? decodeStringElements(tensor.bytes, tensor.name)
    : [...typedElements(tensor.datatype, tensor.bytes)];
}

function data(...entries: readonly unknown[]): string {
  return JSON.stringify({ data: entries });
}

describe("createDataSet, of made-up data", () => {
  it("fills every input that must be there", () => {
    const of = model({ A: ["INT32", [2, 2]], S: ["BYTES", [2]], O: ["FP32", [1], "optional"] });
    const [step] = steps(of, {});
    expect(step?.inputs.map(({ name, shape }) => [name, shape])).toEqual([
      ["A", [1, 2, 2]],
      ["S", [1, 2]],
    ]);
    expect(values(step?.inputs[0])).toEqual([0, 0, 0, 0]);
    expect(values(step?.inputs[1])).toEqual(["", ""]);
  });

  it("is random but the same each time, strings of a length too", () => {
    const of = model({ A: ["FP32", [64]], S: ["BYTES", [3]] });
    const [step] = steps(of, { data: { kind: "random" } });
    const [again] = steps(of, { data: { kind: "random" } });
    expect(again).toEqual(step);
    expect(new Set(values(step?.inputs[0])).size).toBeGreaterThan(32);
    expect(values(step?.inputs[1]).every((text) => String(text).length === 5)).toBe(true);
    expect(values(steps(of, { stringData: "x" })[0]?.inputs[1])).toEqual(["x", "x", "x"]);
  });

  it("repeats a row for a batch, and has no batch dimension where there is none", () => {
    const [batched] = steps(model({ A: ["INT8", [2]] }), { batchSize: 3 });
    expect(batched?.inputs[0]).toMatchObject({ shape: [3, 2], bytes: new Uint8Array(6) });
    const [plain] = steps(model({ A: ["INT8", [2]] }, 0), {});
    expect(plain?.inputs[0]?.shape).toEqual([2]);
  });

  it("wants the shape of an input that has none of its own", () => {
    const of = model({ A: ["INT8", [-1, 3]] });
    expect(() => steps(of, {})).toThrow("--shape A:<size>,3");
    expect(steps(of, { shapes: { A: [4, 3] } })[0]?.inputs[0]?.shape).toEqual([1, 4, 3]);
    expect(() => steps(of, { shapes: { B: [1] } })).toThrow("a shape for 'B', but model 'm' has 'A'");
  });

  it("refuses batches that the model does not take", () => {
    expect(() => steps(model({}, 0), { batchSize: 2 })).toThrow("model 'm' does not batch");
    expect(() => steps(model({}, 4), { batchSize: 5 })).toThrow("the largest batch size of model 'm' is 4");
  });
});

describe("createDataSet, of a file", () => {
  const of = model({ A: ["INT32", [2]], S: ["BYTES", [1], "optional"] });

  it("takes elements flat, nested, and with a shape", () => {
    const all = steps(
      model({ A: ["INT32", [-1, 2]] }),
      data(
        { A: [1, 2] },
        {
          A: [
            [3, 4],
            [5, 6],
          ],
        },
        { A: { content: [7, 8], shape: [1, 2] } },
      ),
    );
    expect(all.map(({ inputs }) => inputs[0]?.shape)).toEqual([
      [1, 1, 2],
      [1, 2, 2],
      [1, 1, 2],
    ]);
    expect(all.map(({ inputs }) => values(inputs[0]))).toEqual([
      [1, 2],
      [3, 4, 5, 6],
      [7, 8],
    ]);
  });

  it("takes strings, raw bytes, integers beyond 2^53 and parameters", () => {
    const text =
      '{"data":[{"B":[9007199254740993],"S":["a"],"R":{"b64":"AQIDBA=="},"parameters":{"k":1,"t":"x"}}]}';
    const [step] = steps(model({ B: ["INT64", [1]], S: ["BYTES", [1]], R: ["UINT8", [4]] }), text);
    expect(step?.inputs.map(values)).toEqual([[9007199254740993n], ["a"], [1, 2, 3, 4]]);
    expect(step?.parameters).toEqual({ k: 1n, t: "x" });
  });

  it("takes bytes for a string as they are, or with their lengths", () => {
    const strings = model({ S: ["BYTES", [1]] }, 0);
    expect(values(steps(strings, data({ S: { b64: btoa("hi") } }))[0]?.inputs[0])).toEqual(["hi"]);
    expect(values(steps(strings, data({ S: { b64: btoa("\u0002\0\0\0hi") } }))[0]?.inputs[0])).toEqual([
      "hi",
    ]);
  });

  it("makes batches of consecutive entries, round and round", () => {
    const all = steps(of, {
      data: parseInputData(data({ A: [1, 1] }, { A: [2, 2] }, { A: [3, 3] })),
      batchSize: 2,
    });
    expect(all.map(({ inputs }) => values(inputs[0]))).toEqual([
      [1, 1, 2, 2],
      [2, 2, 3, 3],
      [3, 3, 1, 1],
    ]);
  });

  it("knows what outputs must be, row for row of the batch", () => {
    const text = JSON.stringify({
      data: [{ A: [1, 1] }, { A: [2, 2] }],
      validation_data: [{ Y: [1, 2] }, { Y: { content: [3, 4], shape: [2] } }],
    });
    const [one, other] = steps(of, { data: parseInputData(text), batchSize: 2 });
    expect(one?.expected?.map(({ name, shape }) => [name, shape])).toEqual([["Y", [2, 2]]]);
    expect(values(one?.expected?.[0])).toEqual([1, 2, 3, 4]);
    expect(values(other?.expected?.[0])).toEqual([3, 4, 1, 2]);
    const decoupled = { ...of, isDecoupled: true };
    expect(() => steps(decoupled, text)).toThrow("model 'm' is decoupled");
    const unknown = { data: [{ A: [1, 1] }], validation_data: [{ Z: [1] }] };
    expect(() => steps(of, JSON.stringify(unknown))).toThrow(
      "validation_data in data[0][0] for 'Z', but model 'm' has 'Y'",
    );
    const short = { data: [{ A: [1, 1] }, { A: [2, 2] }], validation_data: [{ Y: [1, 2] }] };
    expect(() => steps(of, JSON.stringify(short))).toThrow("an entry for each entry of 'data'");
  });

  it("joins the entries of several files", () => {
    const joined = joinInputData([data({ A: [1, 1] }), data({ A: [2, 2] })].map(parseInputData));
    expect(steps(of, { data: joined }).map(({ inputs }) => values(inputs[0]))).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(() => joinInputData([{ kind: "zero" }, joined])).toThrow("'zero' is no input data");
  });

  it("takes a file for each tensor: raw bytes, or a string in each line, and outputs to compare", () => {
    const files = {
      A: btoa("\u0001\0\0\0\u0002\0\0\0"),
      S: btoa("one line\n"),
      Y: btoa("\u0003\0\0\0\u0004\0\0\0"),
    };
    const [step] = steps(of, { data: { kind: "files", files } });
    expect(step?.inputs.map(values)).toEqual([[1, 2], ["one line"]]);
    expect(values(step?.expected?.[0])).toEqual([3, 4]);
    const lacking = { kind: "files", files: { S: files.S } } as const;
    expect(() => steps(of, { data: lacking })).toThrow("the directory has nothing for input 'A'");
  });

  it("tells what a schedule in the data is no use for", () => {
    expect(() => steps(of, data({ A: [1, 2], timestamp: [5] }))).toThrow("see --request-intervals");
  });

  it("keeps streams apart", () => {
    const { streams } = createDataSet(of, {
      ...OPTIONS,
      data: parseInputData(data([{ A: [1, 2] }, { A: [3, 4] }], [{ A: [5, 6] }])),
    });
    expect(streams.map((stream) => stream.length)).toEqual([2, 1]);
  });

  it.each([
    ["{}", "needs a list 'data'"],
    ['{"data":[]}', "needs a list 'data'"],
    ['{"data":[[]]}', "data[0] must be a list"],
    ['{"data":[1]}', "data[0] must be an object"],
    [data({ A: 5 }), "data[0].A must be an object"],
    [data({ A: {} }), "data[0].A needs 'content'"],
    [data({ A: { content: [1], shape: "x" } }), "must be a list of integers"],
    [data({ B: [1] }), "data in data[0][0] for 'B', but model 'm' has 'A', 'S'"],
    [data({ S: ["a"] }), "data[0][0] has nothing for input 'A'"],
    [data({ A: [1, 2, 3] }), "has 3 elements, which do not fit the shape [2]"],
    [data({ A: [1, 2], parameters: { x: [] } }), "parameters.x must be a string"],
  ])("refuses %s", (text, message) => {
    expect(() => steps(of, text)).toThrow(message);
  });
});
