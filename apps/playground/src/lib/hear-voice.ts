import type { Frame } from "./sound.ts";
import { FRAME } from "./sound.ts";
import type { InferResult } from "./v2.ts";
import { infer } from "./v2.ts";

/** What one frame of a stream came to. */
export interface Moment {
  /** That somebody speaks, 0 to 1. */
  readonly probability: number;
  /** The largest sample, 0 to 1. */
  readonly loudness: number;
}

/**
 * Sends the frames of one stream as a sequence of the model, each when the one before is answered. The last one is held
 * back until it is known to be the last, since it ends the sequence.
 */
export async function* hearVoice(
  model: string,
  frames: Iterable<Frame> | AsyncIterable<Frame>,
): AsyncGenerator<{ readonly moment: Moment; readonly result: InferResult }> {
  const id = crypto.randomUUID();
  let started = false;
  const send = async (
    frame: Frame,
    end: boolean,
  ): Promise<{ readonly moment: Moment; readonly result: InferResult }> => {
    const parameters = { sequence_id: id, sequence_start: !started, sequence_end: end };
    started = true;
    const input = { name: "input", datatype: "FP32", shape: [1, FRAME], data: frame };
    const result = await infer(model, [input], parameters);
    const probability = result.outputs.get("output")?.[0] ?? 0;
    const loudness = frame.reduce((largest, sample) => Math.max(largest, Math.abs(sample)), 0);
    return { moment: { probability, loudness: Math.min(loudness, 1) }, result };
  };
  let held: Frame | undefined;
  for await (const frame of frames) {
    if (held !== undefined) yield await send(held, false);
    held = frame;
  }
  if (held !== undefined) yield await send(held, true);
}
