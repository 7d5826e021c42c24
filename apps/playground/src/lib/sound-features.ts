import type { Moment } from "./hear-voice.ts";
import type { Frame } from "./sound.ts";
import { FRAME } from "./sound.ts";
import type { InferResult } from "./v2.ts";
import { infer } from "./v2.ts";

/** Frames of one piece: just under two seconds, sixteen windows of the embedding. */
export const PIECE = 62;
/** Numbers of one window. */
export const NUMBERS = 96;

export interface Piece {
  readonly moments: readonly Moment[];
  /** [windows, 96] */
  readonly embeddings: Float32Array;
  readonly result: InferResult;
}

/**
 * Sends a stream in pieces, each when the one before is answered, as one sequence. The last piece is held back until it is
 * known to be the last, since it ends the sequence.
 */
export async function* soundFeatures(
  model: string,
  frames: Iterable<Frame> | AsyncIterable<Frame>,
): AsyncGenerator<Piece> {
  const id = crypto.randomUUID();
  let started = false;
  const send = async (piece: readonly Frame[], end: boolean): Promise<Piece> => {
    const parameters = { sequence_id: id, sequence_start: !started, sequence_end: end };
    started = true;
    const data = new Float32Array(piece.length * FRAME);
    for (const [index, frame] of piece.entries()) data.set(frame, index * FRAME);
    const input = { name: "SAMPLES", datatype: "FP32", shape: [data.length], data };
    const result = await infer(model, [input], parameters);
    const speech = result.outputs.get("SPEECH") ?? new Float32Array();
    return {
      moments: piece.map((frame, index) => ({
        probability: speech[index] ?? 0,
        loudness: Math.min(
          1,
          frame.reduce((largest, sample) => Math.max(largest, Math.abs(sample)), 0),
        ),
      })),
      embeddings: result.outputs.get("EMBEDDINGS") ?? new Float32Array(),
      result,
    };
  };
  let held: Frame[] = [];
  for await (const frame of frames) {
    if (held.length === PIECE) {
      yield await send(held, false);
      held = [];
    }
    held.push(frame);
  }
  if (held.length > 0) yield await send(held, true);
}
