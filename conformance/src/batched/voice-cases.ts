import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExchangeHandler } from "@naiad/protocol";
import { readWave } from "@naiad/testing/audio";
import type { Tally } from "../report.ts";
import type { V2Tensor } from "../v2-tensor.ts";
import { countExecutions, openSequence } from "./sequence-client.ts";

export const VOICE_MODEL = "silero_vad_batched";

/** The client keeps the context here; the model's memory is the server's. */
export const VOICE_CONFIG = `
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "input" data_type: TYPE_FP32 dims: [ 576 ] } ]
output [ { name: "output" data_type: TYPE_FP32 dims: [ 1 ] } ]
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  oldest { max_candidate_sequences: 8 max_queue_delay_microseconds: 2000 }
  state [
    {
      input_name: "state" output_name: "state_out" data_type: TYPE_FP32 dims: [ 2, 128 ]
      initial_state { name: "zeros" data_type: TYPE_FP32 dims: [ 2, 128 ] zero_data: true }
    }
  ]
}
instance_group [ { kind: KIND_CPU count: 1 } ]
`;

const [FRAME, CONTEXT, TOLERANCE] = [512, 64, 1e-5];

interface Golden {
  readonly audio: string;
  readonly streams: readonly { readonly offset: number; readonly output: readonly number[] }[];
}

/** Streams of real speech one by one and then at once: each says what it says alone, and at once they share executions. */
export async function checkVoice(handle: ExchangeHandler, folder: string, tally: Tally): Promise<void> {
  const golden = JSON.parse(
    readFileSync(join(folder, "models/batched/silero_vad_batched.golden.json"), "utf8"),
  ) as Golden;
  const { samples } = readWave(readFileSync(join(folder, "audio", golden.audio)));
  const check = async (stream: Golden["streams"][number], how: string): Promise<void> => {
    const name = `voice from sample ${stream.offset}, ${how}`;
    const difference = differenceOf(await listen(handle, samples, stream), stream.output);
    if (difference === undefined) tally.pass();
    else tally.fail(name, difference);
  };
  for (const stream of golden.streams) await check(stream, "alone");

  // Each golden stream several times, so that there is something to batch.
  const many = [0, 1, 2].flatMap(() => golden.streams);
  const { inferences, executions } = await countExecutions(handle, VOICE_MODEL, async () => {
    await Promise.all(many.map((stream, index) => check(stream, `as one of six, number ${index}`)));
  });
  if (executions <= inferences / 2) tally.pass();
  else tally.fail("voice, six streams at once", `${inferences} frames took ${executions} executions`);
  tally.remark(`six streams of speech: ${inferences} frames in ${executions} executions`);
}

async function listen(
  handle: ExchangeHandler,
  samples: Float32Array<ArrayBuffer>,
  { offset, output }: Golden["streams"][number],
): Promise<readonly number[]> {
  const sequence = openSequence(handle, VOICE_MODEL);
  const input = new Float32Array(CONTEXT + FRAME);
  const heard: number[] = [];
  for (const frame of output.keys()) {
    const begin = offset + frame * FRAME;
    input.copyWithin(0, FRAME);
    input.set(samples.subarray(begin, begin + FRAME), CONTEXT);
    const answer = await sequence.step([fp32("input", input)], { last: frame === output.length - 1 });
    heard.push(firstOf(answer, "output"));
  }
  return heard;
}

function differenceOf(heard: readonly number[], expected: readonly number[]): string | undefined {
  const frame = expected.findIndex((value, index) => !(Math.abs((heard[index] ?? NaN) - value) <= TOLERANCE));
  return frame < 0
    ? undefined
    : `frame ${frame} is ${heard[frame]} where ${expected[frame]} is expected within ${TOLERANCE}`;
}

function fp32(name: string, values: Float32Array<ArrayBuffer>): V2Tensor {
  return { name, datatype: "FP32", shape: [1, values.length], bytes: new Uint8Array(values.slice().buffer) };
}

function firstOf(outputs: readonly V2Tensor[], name: string): number {
  const bytes = outputs.find((output) => output.name === name)?.bytes;
  if (bytes === undefined) throw new Error(`no output '${name}'`);
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true);
}
