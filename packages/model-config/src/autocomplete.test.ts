import { describe, expect, it } from "vitest";
import { autoCompleteOnnx, ONNX_AUTO_COMPLETE_DEFAULTS } from "./autocomplete.ts";
import { normalizeConfig } from "./normalize.ts";
import type { OnnxType, OnnxValue } from "./onnx-value.ts";
import { printConfig } from "./print.ts";
import { parseConfigText } from "./text.ts";

type Shape = Extract<OnnxType, { kind: "tensor" }>["shape"];
const tensor = (name: string, elementType: number, shape: Shape): OnnxValue => ({
  name,
  type: { kind: "tensor", elementType, shape },
});
const parse = (text: string) => parseConfigText(`name: "m" ${text}`, { fileName: "c" });
const BATCHING = {
  inputs: [tensor("b", 6, [undefined, 16]), tensor("a", 6, ["N", "L"])],
  outputs: [tensor("y", 3, ["N"])],
};
const FIXED = { inputs: [tensor("x", 1, [1, 3])], outputs: [tensor("y", 1, [])] };
const complete = (text: string, model = BATCHING, options = ONNX_AUTO_COMPLETE_DEFAULTS) =>
  printConfig(autoCompleteOnnx(parse(text), model, options));

describe("autoCompleteOnnx", () => {
  it("makes a batching model batch, in the model's own order of tensors", () => {
    expect(complete("")).toMatchObject({
      max_batch_size: 4,
      dynamic_batching: { preferred_batch_size: [] },
      input: [
        { name: "b", data_type: "TYPE_INT32", dims: [16] },
        { name: "a", data_type: "TYPE_INT32", dims: [-1] },
      ],
      output: [{ name: "y", data_type: "TYPE_INT8", dims: [1], reshape: { shape: [] } }],
    });
    expect(printConfig(normalizeConfig(autoCompleteOnnx(parse(""), BATCHING)))).toMatchObject({
      dynamic_batching: { preferred_batch_size: [4] },
    });
  });

  it("keeps batch size and scheduler that are given", () => {
    expect(complete("max_batch_size: 32")).toMatchObject({ max_batch_size: 32, dynamic_batching: {} });
    expect(complete("sequence_batching {}")).not.toHaveProperty("dynamic_batching");
    expect(complete("max_batch_size: 1")).not.toHaveProperty("dynamic_batching");
  });

  it("leaves to the sequence batcher what belongs to it", () => {
    const { inputs, outputs } = BATCHING;
    const model = {
      inputs: [...inputs, tensor("c", 6, ["N", 1]), tensor("s", 1, ["N", 2])],
      outputs: [...outputs, tensor("t", 1, ["N", 2])],
    };
    const control =
      'control_input { name: "c" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }';
    const state = 'state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: 2 }';
    expect(complete(`sequence_batching { ${control} ${state} }`, model)).toMatchObject({
      input: [{ name: "b" }, { name: "a" }],
      output: [{ name: "y" }],
    });
  });

  it("takes the default batch size from the backend's configuration", () => {
    const withDefault = (defaultMaxBatchSize: number) =>
      complete("", BATCHING, { ...ONNX_AUTO_COMPLETE_DEFAULTS, defaultMaxBatchSize });
    expect(withDefault(1)).toMatchObject({ max_batch_size: 1 });
    expect(withDefault(1)).not.toHaveProperty("dynamic_batching");
    expect(withDefault(-3)).toMatchObject({
      max_batch_size: 0,
      input: [{ dims: [-1, 16] }, { dims: [-1, -1] }],
    });
  });

  it("declares whole shapes of a model that does not batch, and a scalar as one element", () => {
    const config = complete("", FIXED);
    expect(config).toMatchObject({ max_batch_size: 0, input: [{ dims: [1, 3] }], output: [{ dims: [1] }] });
    expect(JSON.stringify(config)).not.toContain("reshape");
  });

  it("declares a size of zero, for which a configuration has no word, as any size", () => {
    const model = { inputs: [tensor("x", 1, [0, 3])], outputs: [tensor("y", 1, [2, 0])] };
    expect(complete("", model)).toMatchObject({
      max_batch_size: 0,
      input: [{ dims: [-1, 3] }],
      output: [{ dims: [2, -1] }],
    });
  });

  it("refuses a batch size of a model that does not batch", () => {
    expect(() => complete("max_batch_size: 1", FIXED)).toThrow(
      "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
    );
  });

  it("replaces only the list that is empty", () => {
    expect(complete('input { name: "mine" }')).toMatchObject({
      input: [{ name: "mine" }],
      output: [{ name: "y" }],
    });
    expect(complete('batch_input { target_name: "b" }')).toMatchObject({
      input: [],
      output: [{ name: "y" }],
    });
    expect(complete('output { name: "mine" }')).toMatchObject({
      input: [{}, {}],
      output: [{ name: "mine" }],
    });
  });

  it("does nothing where both are given", () => {
    const config = parse('max_batch_size: 9 input { name: "i" } output { name: "o" }');
    expect(autoCompleteOnnx(config, FIXED)).toBe(config);
  });

  it("takes an unknown rank for a scalar, as ONNX Runtime reports it", () => {
    const model = { ...BATCHING, outputs: [tensor("y", 16, undefined)] };
    expect(complete("", model)).toMatchObject({
      max_batch_size: 0,
      output: [{ data_type: "TYPE_BF16", dims: [1] }],
    });
  });

  it("refuses outputs that are no tensors, or leaves them out on demand", () => {
    const model = {
      ...BATCHING,
      outputs: [...BATCHING.outputs, { name: "maps", type: { kind: "sequence" } }],
    } as const;
    expect(() => autoCompleteOnnx(parse(""), model)).toThrow(
      expect.objectContaining({
        code: "UNSUPPORTED",
        message: "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'maps', expected 'ONNX_TYPE_TENSOR'.",
      }),
    );
    const config = autoCompleteOnnx(parse(""), model, {
      ...ONNX_AUTO_COMPLETE_DEFAULTS,
      nonTensorOutputs: "omit",
    });
    expect(config.output.map(({ name }) => name)).toEqual(["y"]);
  });

  it("leaves outputs out whose type has no word, as long as there are others", () => {
    const unknown = tensor("nibbles", 22, ["N", 2]);
    const omit = { ...ONNX_AUTO_COMPLETE_DEFAULTS, nonTensorOutputs: "omit" } as const;
    const beside = autoCompleteOnnx(
      parse(""),
      { ...BATCHING, outputs: [...BATCHING.outputs, unknown] },
      omit,
    );
    expect(beside.output.map(({ name }) => name)).toEqual(["y"]);
    const alone = autoCompleteOnnx(parse(""), { ...BATCHING, outputs: [unknown] }, omit);
    expect(alone.output.map(({ name }) => name)).toEqual(["nibbles"]);
  });

  it("refuses a model without any output that is a tensor", () => {
    const model = { ...BATCHING, outputs: [{ name: "maps", type: { kind: "sequence" } }] } as const;
    const omit = { ...ONNX_AUTO_COMPLETE_DEFAULTS, nonTensorOutputs: "omit" } as const;
    expect(() => autoCompleteOnnx(parse(""), model, omit)).toThrow(
      "Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE'",
    );
  });
});
