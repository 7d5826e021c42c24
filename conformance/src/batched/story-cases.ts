import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExchangeHandler } from "@naiad/protocol";
import type { Tally } from "../report.ts";
import type { V2Tensor } from "../v2-tensor.ts";
import { elementsOf } from "../v2-tensor.ts";
import { countExecutions, openSequence } from "./sequence-client.ts";

export const STORY_MODEL = "stories260K_batched";

/** Keys and values of all tokens so far are the state; the client says which token comes next, and where. */
export const STORY_CONFIG = `
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "input_ids" data_type: TYPE_INT64 dims: [ 1 ] },
  { name: "position" data_type: TYPE_INT64 dims: [ 1 ] }
]
output [ { name: "logits" data_type: TYPE_FP32 dims: [ 512 ] } ]
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  oldest { max_candidate_sequences: 8 max_queue_delay_microseconds: 5000 }
  state [
    {
      input_name: "cache" output_name: "cache_out" data_type: TYPE_FP32 dims: [ 10, 4, 256, 8 ]
      initial_state { name: "empty" data_type: TYPE_FP32 dims: [ 10, 4, 256, 8 ] zero_data: true }
    }
  ]
}
instance_group [ { kind: KIND_CPU count: 1 } ]
`;

const TOKENS = 60;
const EXECUTIONS_PER_TOKEN = 0.3;

interface Golden {
  readonly cases: readonly { readonly prompt_ids: readonly number[]; readonly ids: readonly number[] }[];
}

/** Greedy decoding step by step: the golden stories alone, and word for word the same among seven others. */
export async function checkStories(handle: ExchangeHandler, folder: string, tally: Tally): Promise<void> {
  const { cases } = JSON.parse(
    readFileSync(join(folder, "models/batched/stories260K_batched.golden.json"), "utf8"),
  ) as Golden;
  const golden = cases.map(({ prompt_ids: prompt, ids }) => ({ prompt, ids }));
  for (const [index, { prompt, ids }] of golden.entries()) {
    report(tally, `story ${index}, alone`, await tell(handle, prompt), ids);
  }
  // Prompts of other lengths have their sequences at other positions: what the longest prompt says, cut short.
  const longest = golden.map(({ prompt }) => prompt).sort((a, b) => b.length - a.length)[0] ?? [];
  const others = [3, 5, 7, 9, 12, 15].map((length) => longest.slice(0, length));
  const stories = [...golden];
  for (const prompt of others) stories.push({ prompt, ids: await tell(handle, prompt) });

  const { inferences, executions } = await countExecutions(handle, STORY_MODEL, async () => {
    const told = await Promise.all(stories.map(({ prompt }) => tell(handle, prompt)));
    for (const [index, { ids }] of stories.entries()) {
      report(tally, `story ${index}, with ${stories.length - 1} others in flight`, told[index] ?? [], ids);
    }
  });
  const perToken = executions / inferences;
  if (perToken <= EXECUTIONS_PER_TOKEN) tally.pass();
  else tally.fail("stories, eight at once", `${perToken.toFixed(3)} executions for each token`);
  tally.remark(`eight stories at once: ${perToken.toFixed(3)} executions for each token`);
}

/** The tokens that follow the prompt. */
async function tell(handle: ExchangeHandler, prompt: readonly number[]): Promise<readonly number[]> {
  const sequence = openSequence(handle, STORY_MODEL);
  const ids: number[] = [];
  const steps = prompt.length + TOKENS - 1;
  for (let position = 0; position < steps; position += 1) {
    const token = prompt[position] ?? ids.at(-1) ?? NaN;
    const inputs = [int64("input_ids", token), int64("position", position)];
    const answer = await sequence.step(inputs, { last: position === steps - 1 });
    if (position >= prompt.length - 1) ids.push(bestOf(answer));
  }
  return ids;
}

function report(tally: Tally, name: string, told: readonly number[], expected: readonly number[]): void {
  const token = expected.findIndex((id, index) => told[index] !== id);
  if (token < 0 && told.length === expected.length) tally.pass();
  else tally.fail(name, `token ${token} is ${told[token]} where ${expected[token]} is expected`);
}

function int64(name: string, number: number): V2Tensor {
  const bytes = new Uint8Array(BigInt64Array.of(BigInt(number)).buffer);
  return { name, datatype: "INT64", shape: [1, 1], bytes };
}

function bestOf(outputs: readonly V2Tensor[]): number {
  const logits = outputs.find(({ name }) => name === "logits");
  if (logits === undefined) throw new Error("no output 'logits'");
  const values = elementsOf(logits).map(Number);
  return values.indexOf(Math.max(...values));
}
