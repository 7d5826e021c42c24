import type { Initializer, InlineTensor, Node } from "@naiad/testing/fixture-models";
import { attribute, ElementType, floats, node } from "@naiad/testing/fixture-models";
import type { CheckpointTensor } from "./torch-checkpoint.ts";

/** A convolution with the batch normalisation that follows it; both by their names in the checkpoint. */
export interface Convolution {
  readonly input: string;
  readonly weights: string;
  readonly normalization: string;
  readonly kernel: number;
  readonly stride?: number;
  readonly depthwise?: true;
  readonly activation: "relu6" | "none";
}

/** A graph in the making. What adds nodes gives the name of their result. */
export interface FoldedGraph {
  readonly nodes: Node[];
  readonly initializers: Initializer[];
  /** Throws where the checkpoint has no tensor of this name. */
  tensor(name: string): CheckpointTensor;
  /** The weights of this name, as FP32 again. */
  quantized(name: string, weights: CheckpointTensor): string;
  convolution(convolution: Convolution): string;
}

/** What TensorFlow trains these networks with: the variance of a batch normalisation never counts as less. */
const EPSILON = 1e-3;

/**
 * Batch normalisations are folded into the convolutions before them. Weights are INT8 with one scale per output channel, and become
 * FP32 by Cast and Mul, which ONNX Runtime folds when it loads the model; DequantizeLinear it would carry out at each run.
 * Padding is TensorFlow's SAME: where a stride leaves an odd rest, the end gets more.
 */
export function createFoldedGraph(checkpoint: ReadonlyMap<string, CheckpointTensor>): FoldedGraph {
  const nodes: Node[] = [];
  const initializers: Initializer[] = [floats("relu6_low", [], [0]), floats("relu6_high", [], [6])];

  function tensor(name: string): CheckpointTensor {
    const found = checkpoint.get(name);
    if (found === undefined) throw new Error(`the checkpoint has no ${name}`);
    return found;
  }

  function quantized(name: string, weights: CheckpointTensor): string {
    const { values, scales } = quantize(weights);
    const scaleShape = weights.shape.map((size, axis) => (axis === 0 ? size : 1));
    initializers.push(
      int8(`${name}.int8`, weights.shape, values),
      floats(`${name}.scale`, scaleShape, scales),
    );
    nodes.push(
      node("Cast", [`${name}.int8`], [`${name}.cast`], [attribute.int("to", ElementType.FLOAT)]),
      node("Mul", [`${name}.cast`, `${name}.scale`], [name]),
    );
    return name;
  }

  function convolution(wanted: Convolution): string {
    const { activation, depthwise, input, kernel, normalization, stride = 1, weights } = wanted;
    const folded = foldNormalization(tensor(`${weights}.weight`), {
      gamma: tensor(`${normalization}.weight`).values,
      beta: tensor(`${normalization}.bias`).values,
      mean: tensor(`${normalization}.running_mean`).values,
      variance: tensor(`${normalization}.running_var`).values,
    });
    const [bias, output] = [`${weights}.bias`, `${weights}.out`];
    initializers.push(floats(bias, [folded.bias.length], folded.bias));
    const attributes = [
      attribute.ints("kernel_shape", [kernel, kernel]),
      attribute.ints("strides", [stride, stride]),
      attribute.ints("pads", samePadding(kernel, stride)),
      ...(depthwise ? [attribute.int("group", folded.bias.length)] : []),
    ];
    nodes.push(node("Conv", [input, quantized(weights, folded.weights), bias], [output], attributes));
    if (activation === "none") return output;
    nodes.push(node("Clip", [output, "relu6_low", "relu6_high"], [`${output}.relu6`]));
    return `${output}.relu6`;
  }

  return { nodes, initializers, tensor, quantized, convolution };
}

/** Top, left, bottom, right, for sides that the stride divides. */
function samePadding(kernel: number, stride: number): readonly number[] {
  const total = Math.max(0, kernel - stride);
  const start = Math.floor(total / 2);
  return [start, start, total - start, total - start];
}

interface Normalization {
  readonly gamma: Float32Array;
  readonly beta: Float32Array;
  readonly mean: Float32Array;
  readonly variance: Float32Array;
}

/** The convolution that does what a convolution without bias and a batch normalisation after it do. */
function foldNormalization(
  { shape, values }: CheckpointTensor,
  { beta, gamma, mean, variance }: Normalization,
): { readonly weights: CheckpointTensor; readonly bias: readonly number[] } {
  const perChannel = values.length / gamma.length;
  const factor = gamma.map((each, channel) => each / Math.sqrt((variance[channel] ?? 0) + EPSILON));
  const bias = Array.from(beta, (each, channel) => each - (mean[channel] ?? 0) * (factor[channel] ?? 0));
  const folded = values.map((each, index) => each * (factor[Math.floor(index / perChannel)] ?? 0));
  return { weights: { shape, values: folded }, bias };
}

/** Symmetric INT8 along the first axis: value = scale * integer, -127 to 127. */
function quantize({ shape, values }: CheckpointTensor): {
  readonly values: Int8Array<ArrayBuffer>;
  readonly scales: readonly number[];
} {
  const perChannel = values.length / (shape[0] ?? 1);
  const integers = new Int8Array(values.length);
  const scales: number[] = [];
  for (let start = 0; start < values.length; start += perChannel) {
    const channel = values.subarray(start, start + perChannel);
    const largest = channel.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    const scale = largest === 0 ? 1 : largest / 127;
    scales.push(scale);
    integers.set(
      channel.map((each) => Math.round(each / scale)),
      start,
    );
  }
  return { values: integers, scales };
}

function int8(name: string, shape: readonly number[], values: Int8Array<ArrayBuffer>): InlineTensor {
  return {
    name,
    dataType: ElementType.INT8,
    dims: shape.map(BigInt),
    rawData: new Uint8Array(values.buffer),
  };
}
