import {
  attribute,
  bools,
  ElementType,
  external,
  floats,
  integers,
  node,
  onnxModel,
  value,
} from "./onnx-graph.ts";
import type { Dimension, Graph, InlineTensor, Node } from "./onnx-graph.ts";
import { reluWeights, seeded } from "./seeded.ts";

/** The ONNX files of the fixture models. Each function gives the same bytes every time. */

/** OUTPUT0 = INPUT0 + INPUT1 and OUTPUT1 = INPUT0 - INPUT1. */
export function addSubModel(type: ElementType, dims: readonly Dimension[]): Uint8Array {
  return onnxModel({
    name: "add_sub",
    input: [value("INPUT0", type, dims), value("INPUT1", type, dims)],
    output: [value("OUTPUT0", type, dims), value("OUTPUT1", type, dims)],
    node: [node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]), node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])],
  });
}

/** The same with whole numbers written as text. */
export function textAddSubModel(dims: readonly Dimension[]): Uint8Array {
  const cast = (from: string, to: string, type: ElementType): Node =>
    node("Cast", [from], [to], [attribute.int("to", type)]);
  return onnxModel({
    name: "text_add_sub",
    input: [value("INPUT0", ElementType.STRING, dims), value("INPUT1", ElementType.STRING, dims)],
    output: [value("OUTPUT0", ElementType.STRING, dims), value("OUTPUT1", ElementType.STRING, dims)],
    node: [
      cast("INPUT0", "number_0", ElementType.INT32),
      cast("INPUT1", "number_1", ElementType.INT32),
      node("Add", ["number_0", "number_1"], ["sum"]),
      node("Sub", ["number_0", "number_1"], ["difference"]),
      cast("sum", "OUTPUT0", ElementType.STRING),
      cast("difference", "OUTPUT1", ElementType.STRING),
    ],
  });
}

/** OUTPUT0 = INPUT0, element for element. */
export function identityModel(type: ElementType, dims: readonly Dimension[]): Uint8Array {
  return onnxModel({
    name: "identity",
    input: [value("INPUT0", type, dims)],
    output: [value("OUTPUT0", type, dims)],
    node: [node("Identity", ["INPUT0"], ["OUTPUT0"])],
  });
}

/** OUTPUT0 = INPUT0 + INPUT1. */
export function addModel(type: ElementType, dims: readonly Dimension[]): Uint8Array {
  return onnxModel({
    name: "add",
    input: [value("INPUT0", type, dims), value("INPUT1", type, dims)],
    output: [value("OUTPUT0", type, dims)],
    node: [node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"])],
  });
}

/** OUTPUT = INPUT * factor + offset, FP32 rows of four. */
export function affineModel(factor: number, offset: number): Uint8Array {
  return onnxModel({
    name: "affine",
    input: [value("INPUT", ElementType.FLOAT, ["batch", 4])],
    output: [value("OUTPUT", ElementType.FLOAT, ["batch", 4])],
    initializer: [floats("factor", [], [factor]), floats("offset", [], [offset])],
    node: [node("Mul", ["INPUT", "factor"], ["scaled"]), node("Add", ["scaled", "offset"], ["OUTPUT"])],
  });
}

/** Two hidden ReLU layers of 128 and a linear layer of 16 on FP32 rows of 128. */
export function mlpModel(): Uint8Array {
  const random = seeded(2128);
  const initializer: InlineTensor[] = [];
  const nodes: Node[] = [];
  const widths = [128, 128, 128, 16];
  let previous = "INPUT";
  for (const [layer, width] of widths.slice(1).entries()) {
    const fanIn = widths[layer] ?? 0;
    const last = layer === widths.length - 2;
    const linear = last ? "OUTPUT" : `linear_${layer}`;
    initializer.push(
      floats(`weight_${layer}`, [fanIn, width], reluWeights(random, fanIn * width, fanIn)),
      floats(`bias_${layer}`, [width], reluWeights(random, width, fanIn)),
    );
    nodes.push(node("Gemm", [previous, `weight_${layer}`, `bias_${layer}`], [linear]));
    if (last) break;
    previous = `hidden_${layer}`;
    nodes.push(node("Relu", [linear], [previous]));
  }
  return onnxModel({
    name: "mlp_2x128",
    input: [value("INPUT", ElementType.FLOAT, ["batch", 128])],
    output: [value("OUTPUT", ElementType.FLOAT, ["batch", 16])],
    initializer,
    node: nodes,
  });
}

interface ConvolutionLayer {
  readonly channels: number;
  readonly kernel: number;
  readonly stride: number;
}

/** Four convolutions, global pooling and ten classes on FP32 images [3, 224, 224]. */
export function cnnModel(): Uint8Array {
  const random = seeded(224);
  const layers: readonly ConvolutionLayer[] = [
    { channels: 16, kernel: 7, stride: 2 },
    { channels: 32, kernel: 3, stride: 2 },
    { channels: 64, kernel: 3, stride: 2 },
    { channels: 128, kernel: 3, stride: 2 },
  ];
  const initializer: InlineTensor[] = [];
  const nodes: Node[] = [];
  let previous = "IMAGE";
  let depth = 3;
  for (const [index, { channels, kernel, stride }] of layers.entries()) {
    const fanIn = depth * kernel * kernel;
    const pad = (kernel - 1) / 2;
    initializer.push(
      floats(
        `kernel_${index}`,
        [channels, depth, kernel, kernel],
        reluWeights(random, channels * fanIn, fanIn),
      ),
      floats(`bias_${index}`, [channels], reluWeights(random, channels, fanIn)),
    );
    nodes.push(
      node(
        "Conv",
        [previous, `kernel_${index}`, `bias_${index}`],
        [`conv_${index}`],
        [
          attribute.ints("kernel_shape", [kernel, kernel]),
          attribute.ints("strides", [stride, stride]),
          attribute.ints("pads", [pad, pad, pad, pad]),
        ],
      ),
      node("Relu", [`conv_${index}`], [`relu_${index}`]),
    );
    previous = `relu_${index}`;
    depth = channels;
  }
  initializer.push(
    floats("head_weight", [depth, 10], reluWeights(random, depth * 10, depth)),
    floats("head_bias", [10], reluWeights(random, 10, depth)),
  );
  nodes.push(
    node("GlobalAveragePool", [previous], ["pooled"]),
    node("Flatten", ["pooled"], ["features"]),
    node("Gemm", ["features", "head_weight", "head_bias"], ["logits"]),
    node("Softmax", ["logits"], ["SCORES"], [attribute.int("axis", 1)]),
  );
  return onnxModel({
    name: "cnn_224",
    input: [value("IMAGE", ElementType.FLOAT, ["batch", 3, 224, 224])],
    output: [value("SCORES", ElementType.FLOAT, ["batch", 10])],
    initializer,
    node: nodes,
  });
}

/**
 * Multiplies two 128 x 128 matrices as often as the largest ITERATIONS of the batch says: about 0.1 to 1 ms each on a
 * CPU, so that a huge count is a true hang. ECHO gives each row's ITERATIONS back, CHECKSUM is equal for all rows.
 */
export function slowLoopModel(): Uint8Array {
  const size = 128;
  const body: Graph = {
    name: "body",
    input: [
      value("iteration", ElementType.INT64, []),
      value("continue_in", ElementType.BOOL, []),
      value("state_in", ElementType.FLOAT, [size, size]),
    ],
    output: [
      value("continue_out", ElementType.BOOL, []),
      value("state_out", ElementType.FLOAT, [size, size]),
    ],
    node: [
      node("Identity", ["continue_in"], ["continue_out"]),
      node("MatMul", ["state_in", "rotation"], ["product"]),
      node("Tanh", ["product"], ["state_out"]),
    ],
  };
  const random = seeded(600);
  return onnxModel({
    name: "slow_loop",
    input: [value("ITERATIONS", ElementType.INT64, ["batch", 1])],
    output: [
      value("ECHO", ElementType.INT64, ["batch", 1]),
      value("CHECKSUM", ElementType.FLOAT, ["batch", 1]),
    ],
    initializer: [
      floats("start", [size, size], reluWeights(random, size * size, size)),
      floats("rotation", [size, size], reluWeights(random, size * size, size)),
      bools("yes", [], [true]),
    ],
    node: [
      node("ReduceMax", ["ITERATIONS"], ["count"], [attribute.int("keepdims", 0)]),
      node("Loop", ["count", "yes", "start"], ["state"], [attribute.graph("body", body)]),
      node("ReduceSumSquare", ["state"], ["energy"], [attribute.int("keepdims", 0)]),
      node("Identity", ["ITERATIONS"], ["ECHO"]),
      node("Shape", ["ITERATIONS"], ["shape"]),
      node("Expand", ["energy", "shape"], ["CHECKSUM"]),
    ],
  });
}

/** Three class scores of an FP32 row of four: each of the first three features speaks for one class, the fourth for all alike. */
export function classifierModel(): Uint8Array {
  const weight = [4, 0, 0, 0, 4, 0, 0, 0, 4, 1, 1, 1];
  return onnxModel({
    name: "classifier",
    input: [value("FEATURES", ElementType.FLOAT, ["batch", 4])],
    output: [value("SCORES", ElementType.FLOAT, ["batch", 3])],
    initializer: [floats("weight", [4, 3], weight)],
    node: [
      node("MatMul", ["FEATURES", "weight"], ["logits"]),
      node("Softmax", ["logits"], ["SCORES"], [attribute.int("axis", 1)]),
    ],
  });
}

/** OUTPUT = INPUT x weight with the 64 x 8 weight in a file of its own, at an offset as exporters write it. */
export function externalDataModel(location: string): {
  readonly model: Uint8Array;
  readonly data: Uint8Array;
} {
  const offset = 64;
  const weight = floats("weight", [64, 8], reluWeights(seeded(648), 64 * 8, 64));
  const data = new Uint8Array(offset + weight.rawData.byteLength);
  data.set(weight.rawData, offset);
  const model = onnxModel({
    name: "external_data",
    input: [value("INPUT", ElementType.FLOAT, ["batch", 64])],
    output: [value("OUTPUT", ElementType.FLOAT, ["batch", 8])],
    initializer: [external(weight, location, offset)],
    node: [node("MatMul", ["INPUT", "weight"], ["OUTPUT"])],
  });
  return { model, data };
}

/** OUTPUT = INPUT + BIAS, FP32 [4]; the model brings a BIAS of 1, 2, 3, 4 for whoever does not give one. */
export function optionalInputModel(): Uint8Array {
  return onnxModel({
    name: "optional_input",
    input: [value("INPUT", ElementType.FLOAT, [4]), value("BIAS", ElementType.FLOAT, [4])],
    output: [value("OUTPUT", ElementType.FLOAT, [4])],
    initializer: [floats("BIAS", [4], [1, 2, 3, 4])],
    node: [node("Add", ["INPUT", "BIAS"], ["OUTPUT"])],
  });
}

/**
 * One convolution over time with this many input channels, FP32 [channels, 8] to [4, 8]. With 129 of them ONNX Runtime
 * 1.30 computes it wrongly on WebGPU, with 128 it does not.
 */
export function convolutionModel(channels: number): Uint8Array {
  const [filters, kernel] = [4, 3];
  const fanIn = channels * kernel;
  const random = seeded(channels);
  return onnxModel({
    name: `convolution_${channels}`,
    input: [value("INPUT", ElementType.FLOAT, ["batch", channels, 8])],
    output: [value("OUTPUT", ElementType.FLOAT, ["batch", filters, 8])],
    initializer: [
      floats("kernel", [filters, channels, kernel], reluWeights(random, filters * fanIn, fanIn)),
      floats("bias", [filters], reluWeights(random, filters, fanIn)),
    ],
    node: [
      node(
        "Conv",
        ["INPUT", "kernel", "bias"],
        ["OUTPUT"],
        [attribute.ints("kernel_shape", [kernel]), attribute.ints("pads", [1, 1])],
      ),
    ],
  });
}

/**
 * SUM[i] is the sum of ITEMS from ENDS[i] to ENDS[i + 1], and COPY is ITEMS: what a batch of requests with different
 * lengths looks like to a model.
 */
export function raggedSumModel(): Uint8Array {
  return onnxModel({
    name: "ragged_sum",
    input: [value("ITEMS", ElementType.FLOAT, ["items"]), value("ENDS", ElementType.INT32, ["ends"])],
    output: [value("SUM", ElementType.FLOAT, ["requests", 1]), value("COPY", ElementType.FLOAT, ["items"])],
    initializer: [
      integers("axis_0", [], [0]),
      integers("axis_1", [1], [1]),
      integers("first", [1], [0]),
      integers("second", [1], [1]),
      integers("last", [1], [-1]),
      integers("end", [1], [1_000_000]),
      floats("nothing", [1], [0]),
    ],
    node: [
      node("Identity", ["ITEMS"], ["COPY"]),
      node("CumSum", ["ITEMS", "axis_0"], ["running"]),
      node("Concat", ["nothing", "running"], ["sums"], [attribute.int("axis", 0)]),
      node("Gather", ["sums", "ENDS"], ["at_ends"]),
      node("Slice", ["at_ends", "second", "end"], ["after"]),
      node("Slice", ["at_ends", "first", "last"], ["before"]),
      node("Sub", ["after", "before"], ["difference"]),
      node("Unsqueeze", ["difference", "axis_1"], ["SUM"]),
    ],
  });
}
