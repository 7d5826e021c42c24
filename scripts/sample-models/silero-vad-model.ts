import type { GraphProto, Node } from "@naiad/testing/fixture-models";
import {
  attribute,
  ElementType,
  integers,
  node,
  readModel,
  value,
  withGraph,
} from "@naiad/testing/fixture-models";
import { prefixNames } from "./prefix-names.ts";

/** At 16 kHz: new samples of a frame, and those of the frame before that the model wants to see in front of them. */
const [FRAME, CONTEXT, SAMPLE_RATE] = [512, 64, 16_000n];

const PREFIX = "silero/";
const own = (name: string): string => PREFIX + name;

/**
 * Silero VAD for a sequence batcher. The original takes `input` FP32 [B, 64 + 512], `state` FP32 [2, B, 128] and the scalar
 * `sr`, and gives `output` FP32 [B, 1] and `stateN`. A server that puts requests together along the first axis needs the
 * batch there in every tensor, and a client should send new samples only; so this one has
 *
 *     input FP32 [B, 512], state FP32 [B, 2, 128], context FP32 [B, 64]
 *     output FP32 [B, 1], state_out like state, context_out like context
 *
 * where zeros begin a stream. Inside is the original's network for 16 kHz. The one for 8 kHz, and with it half of the
 * file, is left out: `sr` is constant.
 */
export function sileroVadModel(original: Uint8Array): Uint8Array {
  const model = readModel(original);
  const { graph } = model;
  if (graph === undefined) throw new Error("there is no graph in the original");
  expectNames("inputs", graph.input, ["input", "state", "sr"]);
  expectNames("outputs", graph.output, ["output", "stateN"]);
  prefixNames(graph, PREFIX);
  const float = ElementType.FLOAT;
  return withGraph(model, {
    name: "silero_vad",
    input: [
      value("input", float, ["batch", FRAME]),
      value("state", float, ["batch", 2, 128]),
      value("context", float, ["batch", CONTEXT]),
    ],
    output: [
      value("output", float, ["batch", 1]),
      value("state_out", float, ["batch", 2, 128]),
      value("context_out", float, ["batch", CONTEXT]),
    ],
    initializer: [
      ...graph.initializer,
      integers("context_start", [1], [FRAME - CONTEXT]),
      integers("context_end", [1], [FRAME]),
      integers("sample_axis", [1], [1]),
    ],
    node: [
      node("Concat", ["context", "input"], [own("input")], [attribute.int("axis", 1)]),
      node("Transpose", ["state"], [own("state")], [attribute.ints("perm", [1, 0, 2])]),
      ...nodesFor16Khz(graph),
      node("Identity", [own("output")], ["output"]),
      node("Transpose", [own("stateN")], ["state_out"], [attribute.ints("perm", [1, 0, 2])]),
      node("Slice", ["input", "context_start", "context_end", "sample_axis"], ["context_out"]),
    ],
  });
}

function expectNames(
  what: "inputs" | "outputs",
  values: GraphProto["input"],
  expected: readonly string[],
): void {
  const found = values.map(({ name }) => name);
  if (found.join() === expected.join()) return;
  throw new Error(`the original has ${what} ${found.join(", ")} where ${expected.join(", ")} are expected`);
}

/** The graph's nodes, which are `If (sr == 16000)` and little else, with those of its first branch in its place. */
function nodesFor16Khz({ node: nodes }: GraphProto): readonly Node[] {
  const choice = nodes.find(({ opType }) => opType === "If");
  const condition = producerOf(nodes, choice?.input[0]);
  const rate = producerOf(nodes, condition?.input[1]);
  const isExpected =
    condition?.opType === "Equal" &&
    condition.input[0] === own("sr") &&
    rate?.attribute[0]?.t?.int64Data[0] === SAMPLE_RATE;
  const branch = choice?.attribute.find(({ name }) => name === "then_branch")?.g;
  if (choice === undefined || branch === undefined || !isExpected) {
    throw new Error(`the original does not ask whether sr is ${SAMPLE_RATE}`);
  }
  const results = choice.output.map((output, index) =>
    node("Identity", [branch.output[index]?.name ?? ""], [output]),
  );
  return nodes.flatMap((each): readonly Node[] => {
    if (each === choice) return [...branch.node, ...results];
    return each === condition || each === rate ? [] : [each];
  });
}

function producerOf(
  nodes: GraphProto["node"],
  valueName: string | undefined,
): GraphProto["node"][number] | undefined {
  return nodes.find(({ output }) => output.some((name) => name === valueName));
}
