import { syntheticVoice } from "@naiad/testing/audio";
import { InferenceSession, Tensor } from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampleModels } from "./sample-models.ts";

const [STEPS, BANDS, NUMBERS] = [76, 32, 96];

let spectrogram: InferenceSession;
let embedding: InferenceSession;
beforeAll(async () => {
  const models = await sampleModels();
  const open = (wanted: string): Promise<InferenceSession> =>
    InferenceSession.create(
      models.find(({ name }) => name === wanted)?.files["1/model.onnx"] as Uint8Array<ArrayBuffer>,
    );
  spectrogram = await open("mel_spectrogram");
  embedding = await open("wake_embedding");
});
afterAll(async () => {
  await spectrogram.release();
  await embedding.release();
});

async function bandsOf(rows: number, samples: Float32Array): Promise<Tensor> {
  const input = new Tensor("float32", samples, [rows, samples.length / rows]);
  const { output } = await spectrogram.run({ input });
  if (output === undefined) throw new Error("no output");
  return output;
}

async function embed(windows: Float32Array): Promise<Float32Array> {
  const count = windows.length / (STEPS * BANDS);
  const input = new Tensor("float32", windows, [count, STEPS, BANDS, 1]);
  const { conv2d_19: result } = await embedding.run({ input_1: input });
  expect(result?.dims).toEqual([count, 1, 1, NUMBERS]);
  return result?.data as Float32Array;
}

const voice = syntheticVoice(0, 32_000).map((sample) => sample * 32_768);

describe("mel_spectrogram and wake_embedding", () => {
  it("make 32 bands of every 160 samples, and 96 numbers of every 76 of those", async () => {
    const bands = await bandsOf(1, voice);
    // The first window is 512 samples long.
    const steps = Math.floor((voice.length - 512) / 160) + 1;
    expect(bands.dims).toEqual([1, 1, steps, BANDS]);
    const scaled = (bands.data as Float32Array).map((value) => value / 10 + 2);
    const starts = [0, 8, 16, 40];
    const windows = starts.map((step) => scaled.slice(step * BANDS, (step + STEPS) * BANDS));
    const together = await embed(Float32Array.from(windows.flatMap((window) => [...window])));
    for (const [row, window] of windows.entries()) {
      const alone = await embed(window);
      const differences = alone.map((value, index) =>
        Math.abs(value - (together[row * NUMBERS + index] ?? NaN)),
      );
      expect(Math.max(...differences)).toBeLessThan(1e-3);
      expect(Math.max(...alone.map(Math.abs))).toBeGreaterThan(1);
    }
  });

  it("cannot batch spectrograms, since the loudest of a batch changes them all", async () => {
    const quiet = voice.map((sample) => sample / 10_000);
    const alone = (await bandsOf(1, quiet)).data as Float32Array;
    const batched = (await bandsOf(2, Float32Array.of(...quiet, ...voice))).data as Float32Array;
    expect(batched.slice(0, alone.length)).not.toEqual(alone);
  });
});
