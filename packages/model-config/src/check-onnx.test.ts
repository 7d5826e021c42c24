import { describe, expect, it } from "vitest";
import { checkOnnxModel } from "./check-onnx.ts";
import type { OnnxModel } from "./onnx-model.ts";
import type { OnnxType, OnnxValue } from "./onnx-value.ts";
import { parseConfigText } from "./text.ts";

type Shape = Extract<OnnxType, { kind: "tensor" }>["shape"];
const tensor = (name: string, elementType: number, shape: Shape): OnnxValue => ({
  name,
  type: { kind: "tensor", elementType, shape },
});
type Model = Pick<OnnxModel, "inputs" | "overridableInitializers" | "outputs">;
const MODEL: Model = {
  inputs: [tensor("x", 1, ["N", 16])],
  overridableInitializers: [],
  outputs: [tensor("y", 1, ["N", "L"])],
};
const INPUT = 'input { name: "x" data_type: TYPE_FP32 dims: 16 }';
const OUTPUT = 'output { name: "y" data_type: TYPE_FP32 dims: -1 }';
const messages = (text: string, model: Model = MODEL): readonly string[] =>
  checkOnnxModel(parseConfigText(`name: "m" ${text}`, { fileName: "c" }), model).map(
    ({ message }) => message,
  );

describe("checkOnnxModel", () => {
  it("accepts a configuration that fits", () => {
    expect(messages(`max_batch_size: 4 ${INPUT} ${OUTPUT}`)).toEqual([]);
    expect(
      messages(
        'input { name: "x" data_type: TYPE_FP32 dims: [8, 16] } output { name: "y" data_type: TYPE_FP32 dims: [-1, -1] }',
      ),
    ).toEqual([]);
  });

  it.each([
    [
      `max_batch_size: 4 ${OUTPUT}`,
      "unable to load model 'm', configuration expects 0 inputs, model provides 1",
    ],
    [
      `max_batch_size: 4 input { name: "z" data_type: TYPE_FP32 dims: 16 } ${OUTPUT}`,
      "unexpected inference input 'z', allowed inputs are: x",
    ],
    [
      `max_batch_size: 4 ${INPUT} output { name: "z" data_type: TYPE_FP32 dims: -1 }`,
      "unexpected inference output 'z', allowed outputs are: y",
    ],
    [
      `max_batch_size: 4 input { name: "x" data_type: TYPE_STRING dims: 16 } ${OUTPUT}`,
      "unable to load model 'm', configuration expects datatype TYPE_STRING for input 'x', model provides TYPE_FP32",
    ],
    [
      `max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: [16, 1] } ${OUTPUT}`,
      "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 3 " +
        "dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, " +
        "making complete shape [-1,16,1])",
    ],
    [
      `max_batch_size: 4 ${INPUT} output { name: "y" data_type: TYPE_FP32 dims: 5 }`,
      "model 'm', tensor 'y': the model expects 2 dimensions (shape [-1,-1]) but the model configuration specifies 2 " +
        "dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, " +
        "making complete shape [-1,5])",
    ],
    [
      `${INPUT} output { name: "y" data_type: TYPE_FP32 dims: [-1, -1] }`,
      "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 1 " +
        "dimensions (shape [16])",
    ],
  ])("%s", (text, message) => {
    expect(messages(text)).toEqual([message]);
  });

  it("wants a variable first dimension of models that batch", () => {
    const model = { ...MODEL, inputs: [tensor("x", 1, [1, 16])] };
    expect(messages(`max_batch_size: 4 ${INPUT} ${OUTPUT}`, model)).toEqual([
      "model 'm', tensor 'x': for the model to support batching the shape should have at least 1 dimension and the " +
        "first dimension must be -1; but shape expected by the model is [1,16]",
    ]);
  });

  it("compares the reshape instead of the dims", () => {
    const input = 'input { name: "x" data_type: TYPE_FP32 dims: [4, 4] reshape { shape: 16 } }';
    expect(messages(`max_batch_size: 4 ${input} ${OUTPUT}`)).toEqual([]);
  });

  it("takes any size for a size of zero, and no fixed one", () => {
    const model = { ...MODEL, inputs: [tensor("x", 1, [0, 16])], outputs: [tensor("y", 1, [0])] };
    const io = (first: string): string =>
      `input { name: "x" data_type: TYPE_FP32 dims: [${first}, 16] } output { name: "y" data_type: TYPE_FP32 dims: -1 }`;
    expect(messages(io("-1"), model)).toEqual([]);
    expect(messages(io("3"), model)).toHaveLength(1);
  });

  it("takes ones for a scalar", () => {
    const model = { ...MODEL, inputs: [tensor("x", 1, [])] };
    const input = (dims: string): string => `input { name: "x" data_type: TYPE_FP32 dims: ${dims} }`;
    const output = 'output { name: "y" data_type: TYPE_FP32 dims: [-1, -1] }';
    expect(messages(`${input("[1, 1]")} ${output}`, model)).toEqual([]);
    expect(messages(`${input("2")} ${output}`, model)).toEqual([
      "unable to load model 'm', scalar tensor 'x', should only provide 1 in the model configuration when the model " +
        "doesn't support batching. Model configuration provided: [2].",
    ]);
  });

  it("takes overridable initializers as optional inputs, without batching only", () => {
    const model = { ...MODEL, overridableInitializers: [tensor("w", 1, [2])] };
    const text = `input { name: "x" data_type: TYPE_FP32 dims: [-1, 16] }
      input { name: "w" data_type: TYPE_FP32 dims: 2 optional: true }
      output { name: "y" data_type: TYPE_FP32 dims: [-1, -1] }`;
    expect(messages(text, model)).toEqual([]);
    expect(messages(`max_batch_size: 1 ${text}`, model)).toContain(
      "unable to load model 'm', optional input 'w' is not supported for models that support batching",
    );
  });

  it("wants a flat tensor for a ragged input", () => {
    const input = 'input { name: "x" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }';
    expect(
      messages(`max_batch_size: 4 ${input} ${OUTPUT}`, { ...MODEL, inputs: [tensor("x", 1, [undefined])] }),
    ).toEqual([]);
    expect(messages(`max_batch_size: 4 ${input} ${OUTPUT}`)).toEqual([
      "unable to load model 'm', configuration expects model provides input with shape [-1]  for ragged input 'x', " +
        "model provides [-1,16]",
    ]);
  });

  it("leaves the shape of batch outputs alone and counts batch inputs", () => {
    const model = { ...MODEL, inputs: [...MODEL.inputs, tensor("counts", 1, [undefined])] };
    const text = `max_batch_size: 4 ${INPUT} output { name: "y" data_type: TYPE_FP32 dims: 99 }
      batch_input { target_name: "counts" data_type: TYPE_FP32 } batch_output { target_name: "y" }`;
    expect(messages(text, model)).toEqual([]);
  });

  describe("with control tensors", () => {
    const control = (kind: string, rest: string): string =>
      `sequence_batching { control_input { name: "c" control { kind: CONTROL_SEQUENCE_${kind} ${rest} } } }`;
    const start = control("START", "int32_false_true: [0, 1]");
    const withControl = (elementType: number, shape: Shape): Model => ({
      ...MODEL,
      inputs: [...MODEL.inputs, tensor("c", elementType, shape)],
    });
    const config = `max_batch_size: 4 ${INPUT} ${OUTPUT}`;

    it("counts them as inputs", () => {
      expect(messages(`${config} ${start}`, withControl(6, [undefined, 1]))).toEqual([]);
      expect(
        messages(`${config} ${control("CORRID", "data_type: TYPE_UINT64")}`, withControl(13, [undefined, 1])),
      ).toEqual([]);
    });

    it("counts states as inputs", () => {
      const text = `${config} sequence_batching { state { input_name: "s" output_name: "t" } }`;
      expect(messages(text)[0]).toBe(
        "unable to load model 'm', configuration expects 2 inputs, model provides 1",
      );
    });

    const withState = (input: OnnxValue, output: OnnxValue): Model => ({
      ...MODEL,
      inputs: [...MODEL.inputs, input],
      outputs: [...MODEL.outputs, output],
    });
    const s = (shape: Shape, elementType = 1): OnnxValue => tensor("s", elementType, shape);
    const t = (shape: Shape, elementType = 1): OnnxValue => tensor("t", elementType, shape);
    const batchFirst =
      "for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; " +
      "but shape expected by the model is";
    it.each<[number, OnnxValue, OnnxValue, readonly string[]]>([
      [4, s([undefined, 8]), t(["N", 8]), []],
      [4, s([undefined, "any"]), t(["N", "any"]), []],
      [1, s([1, 8]), t([1, 8]), []],
      [
        4,
        s([2, undefined, 8]),
        t([2, "N", 8]),
        ["s", "t"].map((name) => `model 'm', tensor '${name}': ${batchFirst} [2,-1,8]`),
      ],
      [
        4,
        s([undefined, 8], 6),
        t(["N", 8]),
        [
          "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 's', model provides TYPE_INT32",
        ],
      ],
      [
        4,
        s([undefined, 8]),
        tensor("other", 1, ["N", 8]),
        ["unexpected inference output 't', allowed outputs are: other, y"],
      ],
    ])("holds states of [8] in batches of %i against the model (%#)", (rows, input, output, expected) => {
      const state = 'state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: 8 }';
      const text = `max_batch_size: ${rows} ${INPUT} ${OUTPUT} sequence_batching { ${state} }`;
      expect(messages(text, withState(input, output))).toEqual(expected);
    });

    it.each([
      [MODEL, "configuration specified sequence control 'c', but model does not provide that input"],
      [
        withControl(6, [undefined, 2]),
        "unable to load model 'm', sequence control 'c' in model has dims [2] but dims [1] is expected",
      ],
      [
        withControl(1, [undefined, 1]),
        "unable to load model 'm', sequence control 'c', the model expects data-type FLOAT but the model configuration " +
          "specifies data-type TYPE_INT32",
      ],
    ])("refuses wrong ones (%#)", (model, message) => {
      expect(messages(`${config} ${start}`, model)[0]).toBe(message);
    });
  });

  it("refuses types that Triton has no word for and values that are no tensors", () => {
    expect(
      messages(`max_batch_size: 4 ${INPUT} ${OUTPUT}`, { ...MODEL, outputs: [tensor("y", 14, ["N", "L"])] }),
    ).toEqual([
      "unable to load model 'm', configuration expects datatype TYPE_FP32 for output 'y', model provides TYPE_<invalid>",
    ]);
    const map: OnnxValue = { name: "z", type: { kind: "map" } };
    const model = { ...MODEL, outputs: [...MODEL.outputs, map] };
    const config = parseConfigText(`name: "m" max_batch_size: 4 ${INPUT} ${OUTPUT}`, { fileName: "c" });
    expect(checkOnnxModel(config, model)).toEqual([
      {
        code: "UNSUPPORTED",
        message: "Unsupported ONNX Type 'ONNX_TYPE_MAP' for I/O 'z', expected 'ONNX_TYPE_TENSOR'.",
        path: "",
      },
    ]);
    expect(checkOnnxModel(config, model, { nonTensorOutputs: "omit" })).toEqual([]);
  });
});
