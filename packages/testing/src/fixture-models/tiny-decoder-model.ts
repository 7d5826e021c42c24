import type { Initializer, Node } from "./onnx-graph.ts";
import { attribute, ElementType, floats, integers, node, onnxModel, value } from "./onnx-graph.ts";
import { TINY_DECODER, tinyDecoderWeights } from "./tiny-decoder-weights.ts";

/**
 * One step of a decoder-only transformer, for a server that puts requests of different sequences together along the first
 * axis:
 *
 *     input_ids INT64 [B, 1], position INT64 [B, 1], cache FP32 [B, 2 layers, heads, capacity, head width]
 *     logits FP32 [B, vocabulary], cache_out like cache
 *
 * Keys and values of all positions have their place in the cache from the beginning, so that rows at different positions
 * have tensors of one shape. A step writes those of its own position and looks at no later ones: what stands there, be it
 * NaN, makes no difference. A row whose token or position does not exist gets NaN as logits, and its neighbours get theirs.
 */
export function tinyDecoderModel(): Uint8Array {
  const { capacity, headWidth, heads, hidden, layers, vocabulary, width } = TINY_DECODER;
  const weights = tinyDecoderWeights();
  const cacheShape = ["batch", 2 * layers, heads, capacity, headWidth];
  const initializer: Initializer[] = [
    floats("tokens", [vocabulary, width], weights.tokens),
    floats("positions", [capacity, width], weights.positions),
    floats("logits_weight", [width, vocabulary], weights.logits),
    floats("logits_bias", [vocabulary], weights.logitsBias),
    floats(
      "ones",
      [width],
      Array.from({ length: width }, () => 1),
    ),
    floats("zero", [], [0]),
    floats("hidden_slot", [], [-1e9]),
    floats("no_number", [], [NaN]),
    floats("score_scale", [], [Math.fround(1 / Math.sqrt(headWidth))]),
    integers("first", [], [0]),
    integers("last_token", [], [vocabulary - 1]),
    integers("last_position", [], [capacity - 1]),
    integers(
      "slots",
      [capacity, 1],
      Array.from({ length: capacity }, (_, slot) => slot),
    ),
    integers(
      "slots_as_row",
      [1, capacity],
      Array.from({ length: capacity }, (_, slot) => slot),
    ),
    integers("as_row", [3], [-1, 1, width]),
    integers("as_heads", [4], [-1, heads, 1, headWidth]),
    integers("as_cache_part", [5], [-1, 1, heads, capacity, headWidth]),
    integers("as_scalar", [4], [-1, 1, 1, 1]),
    integers("as_logits", [2], [-1, vocabulary]),
  ];
  const nodes: Node[] = [
    node("Clip", ["input_ids", "first", "last_token"], ["token"]),
    node("Clip", ["position", "first", "last_position"], ["place"]),
    node("Equal", ["token", "input_ids"], ["is_token"]),
    node("Equal", ["place", "position"], ["is_place"]),
    node("And", ["is_token", "is_place"], ["is_valid"]),
    node("Reshape", ["place", "as_scalar"], ["now"]),
    node("Equal", ["slots", "now"], ["is_now"]),
    node("Less", ["slots", "now"], ["is_past"]),
    node("LessOrEqual", ["slots_as_row", "now"], ["is_seen"]),
    node("Gather", ["tokens", "token"], ["token_row"]),
    node("Gather", ["positions", "place"], ["position_row"]),
    node("Add", ["token_row", "position_row"], ["x_0"]),
  ];
  for (const [layer, each] of weights.layers.entries()) {
    initializer.push(
      floats(`attention_${layer}`, [width, 3 * width], each.attention),
      floats(`mixed_${layer}`, [width, width], each.mixed),
      floats(`widened_${layer}`, [width, hidden], each.widened),
      floats(`narrowed_${layer}`, [hidden, width], each.narrowed),
      integers(`key_index_${layer}`, [], [2 * layer]),
      integers(`value_index_${layer}`, [], [2 * layer + 1]),
    );
    nodes.push(...layerNodes(layer));
  }
  const parts = Array.from({ length: layers }, (_, layer) => [`key_part_${layer}`, `value_part_${layer}`]);
  nodes.push(
    node("Concat", parts.flat(), ["cache_out"], [attribute.int("axis", 1)]),
    node("LayerNormalization", [`x_${layers}`, "ones"], ["normal"], [attribute.int("axis", -1)]),
    node("MatMul", ["normal", "logits_weight"], ["unbiased"]),
    node("Add", ["unbiased", "logits_bias"], ["logits_row"]),
    node("Reshape", ["logits_row", "as_logits"], ["own_logits"]),
    node("Where", ["is_valid", "own_logits", "no_number"], ["logits"]),
  );
  return onnxModel({
    name: "tiny_decoder",
    input: [
      value("input_ids", ElementType.INT64, ["batch", 1]),
      value("position", ElementType.INT64, ["batch", 1]),
      value("cache", ElementType.FLOAT, cacheShape),
    ],
    output: [
      value("logits", ElementType.FLOAT, ["batch", vocabulary]),
      value("cache_out", ElementType.FLOAT, cacheShape),
    ],
    initializer,
    node: nodes,
  });
}

/** From `x_<layer>` [B, 1, width] to the next one, with this layer's parts of the cache. */
function layerNodes(layer: number): readonly Node[] {
  const own = (name: string): string => `${name}_${layer}`;
  return [
    node("LayerNormalization", [own("x"), "ones"], [own("calm")], [attribute.int("axis", -1)]),
    node("MatMul", [own("calm"), own("attention")], [own("all_heads")]),
    node("Split", [own("all_heads")], ["queries", "keys", "values"].map(own), [attribute.int("axis", -1)]),
    ...["queries", "keys", "values"].map((name) =>
      node("Reshape", [own(name), "as_heads"], [own(`${name}_by_head`)]),
    ),
    ...cached("key", "keys_by_head", layer),
    ...cached("value", "values_by_head", layer),
    node("Transpose", [own("key")], [own("turned")], [attribute.ints("perm", [0, 1, 3, 2])]),
    node("MatMul", [own("queries_by_head"), own("turned")], [own("products")]),
    node("Mul", [own("products"), "score_scale"], [own("scores")]),
    node("Where", ["is_seen", own("scores"), "hidden_slot"], [own("seen_scores")]),
    node("Softmax", [own("seen_scores")], [own("shares")], [attribute.int("axis", -1)]),
    node("MatMul", [own("shares"), own("value")], [own("looked_up")]),
    node("Reshape", [own("looked_up"), "as_row"], [own("looked_up_row")]),
    node("MatMul", [own("looked_up_row"), own("mixed")], [own("told")]),
    node("Add", [own("x"), own("told")], [own("attended")]),
    node("LayerNormalization", [own("attended"), "ones"], [own("calm_again")], [attribute.int("axis", -1)]),
    node("MatMul", [own("calm_again"), own("widened")], [own("wide")]),
    node("Relu", [own("wide")], [own("lit")]),
    node("MatMul", [own("lit"), own("narrowed")], [own("narrow")]),
    node("Add", [own("attended"), own("narrow")], [`x_${layer + 1}`]),
  ];
}

/** One part of the cache with this step's row in its place: [B, heads, capacity, head width], zeros behind it. */
function cached(name: "key" | "value", row: string, layer: number): readonly Node[] {
  const own = (suffix: string): string => `${name}_${suffix}_${layer}`;
  return [
    node("Gather", ["cache", own("index")], [own("before")], [attribute.int("axis", 1)]),
    node("Where", ["is_past", own("before"), "zero"], [own("past")]),
    node("Where", ["is_now", `${row}_${layer}`, own("past")], [`${name}_${layer}`]),
    node("Reshape", [`${name}_${layer}`, "as_cache_part"], [own("part")]),
  ];
}
