import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { InferenceSession, Tensor } from "onnxruntime-web";

/** New samples of a frame, at 16 kHz. */
export const FRAME = 512;
const CONTEXT = 64;

/** Silero VAD as it is published. */
const ORIGINAL = new URL("../node_modules/@ricky0123/vad-web/dist/silero_vad_v5.onnx", import.meta.url);

/**
 * What the published model says of each whole frame of each stream, in one session of the engine that no server stands in
 * front of: one stream after the other and one frame after the other, with state and context kept here.
 */
export async function runVadAlone(
  streams: readonly Float32Array<ArrayBuffer>[],
): Promise<readonly (readonly number[])[]> {
  const session = await InferenceSession.create(await readFile(fileURLToPath(ORIGINAL)));
  const sr = new Tensor("int64", BigInt64Array.of(16_000n), []);
  const results: number[][] = [];
  for (const stream of streams) {
    const probabilities: number[] = [];
    let state = new Tensor("float32", new Float32Array(2 * 128), [2, 1, 128]);
    const input = new Float32Array(CONTEXT + FRAME);
    for (const frame of framesOf(stream)) {
      input.copyWithin(0, FRAME);
      input.set(frame, CONTEXT);
      const feeds = { input: new Tensor("float32", input.slice(), [1, CONTEXT + FRAME]), state, sr };
      const { output, stateN } = await session.run(feeds);
      probabilities.push((output?.data as Float32Array)[0] ?? NaN);
      state = stateN as typeof state;
    }
    results.push(probabilities);
  }
  await session.release();
  return results;
}

/** The whole frames of a stream, as views on it. */
export function framesOf(samples: Float32Array<ArrayBuffer>): readonly Float32Array<ArrayBuffer>[] {
  return Array.from({ length: Math.floor(samples.length / FRAME) }, (_, index) =>
    samples.subarray(index * FRAME, (index + 1) * FRAME),
  );
}
