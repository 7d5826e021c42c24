import {
  attribute,
  ElementType,
  floats,
  integers,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import type { FoldedGraph } from "./folded-graph.ts";
import { createFoldedGraph } from "./folded-graph.ts";
import type { CheckpointTensor } from "./torch-checkpoint.ts";

interface Stage {
  readonly repeats: number;
  readonly kernel: number;
  /** Of the first block; the repeats have 1. */
  readonly stride: number;
  readonly expand: number;
  readonly channels: number;
}

const STAGES: readonly Stage[] = [
  { repeats: 1, kernel: 3, stride: 1, expand: 1, channels: 16 },
  { repeats: 2, kernel: 3, stride: 2, expand: 6, channels: 24 },
  { repeats: 2, kernel: 5, stride: 2, expand: 6, channels: 40 },
  { repeats: 3, kernel: 3, stride: 2, expand: 6, channels: 80 },
  { repeats: 3, kernel: 5, stride: 1, expand: 6, channels: 112 },
  { repeats: 4, kernel: 5, stride: 2, expand: 6, channels: 192 },
  { repeats: 1, kernel: 3, stride: 1, expand: 6, channels: 320 },
];

const IMAGE_SIDE = 224;
const CLASSES = 1000;

/**
 * EfficientNet-Lite0 as ONNX, from the weights of its PyTorch port: `image` FP32 [N, 3, 224, 224] to `probabilities` FP32
 * [N, 1000].
 */
export function efficientNetLite0(checkpoint: ReadonlyMap<string, CheckpointTensor>): Uint8Array {
  const graph = createFoldedGraph(checkpoint);
  const head = graph.convolution({
    input: blocks(
      graph,
      graph.convolution({
        input: "image",
        weights: "_conv_stem",
        normalization: "_bn0",
        kernel: 3,
        stride: 2,
        activation: "relu6",
      }),
    ),
    weights: "_conv_head",
    normalization: "_bn1",
    kernel: 1,
    activation: "relu6",
  });
  const classifier = graph.quantized("_fc", graph.tensor("_fc.weight"));
  graph.initializers.push(
    integers("pooled_axes", [2], [2, 3]),
    floats("_fc.bias", [CLASSES], [...graph.tensor("_fc.bias").values]),
  );
  graph.nodes.push(
    node("GlobalAveragePool", [head], ["pooled"]),
    node("Squeeze", ["pooled", "pooled_axes"], ["features"]),
    node("Gemm", ["features", classifier, "_fc.bias"], ["logits"], [attribute.int("transB", 1)]),
    node("Softmax", ["logits"], ["probabilities"], [attribute.int("axis", 1)]),
  );
  return onnxModel({
    name: "efficientnet_lite0",
    node: graph.nodes,
    initializer: graph.initializers,
    input: [value("image", ElementType.FLOAT, ["batch", 3, IMAGE_SIDE, IMAGE_SIDE])],
    output: [value("probabilities", ElementType.FLOAT, ["batch", CLASSES])],
  });
}

function blocks(graph: FoldedGraph, stem: string): string {
  let current = stem;
  let number = 0;
  for (const stage of STAGES) {
    for (let repeat = 0; repeat < stage.repeats; repeat += 1, number += 1) {
      const result = block(graph, current, `_blocks.${String(number)}`, {
        ...stage,
        stride: repeat === 0 ? stage.stride : 1,
      });
      // Channels and size are those of the block before: what it adds is a residual.
      if (repeat > 0) graph.nodes.push(node("Add", [result, current], [`${result}.sum`]));
      current = repeat > 0 ? `${result}.sum` : result;
    }
  }
  return current;
}

/** Widen, filter each channel by itself, narrow. */
function block(graph: FoldedGraph, input: string, name: string, stage: Stage): string {
  const wide =
    stage.expand === 1
      ? input
      : graph.convolution({
          input,
          weights: `${name}._expand_conv`,
          normalization: `${name}._bn0`,
          kernel: 1,
          activation: "relu6",
        });
  const filtered = graph.convolution({
    input: wide,
    weights: `${name}._depthwise_conv`,
    normalization: `${name}._bn1`,
    kernel: stage.kernel,
    stride: stage.stride,
    depthwise: true,
    activation: "relu6",
  });
  return graph.convolution({
    input: filtered,
    weights: `${name}._project_conv`,
    normalization: `${name}._bn2`,
    kernel: 1,
    activation: "none",
  });
}
