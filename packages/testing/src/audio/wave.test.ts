import { describe, expect, it } from "vitest";
import { readWave } from "./read-wave.ts";
import { syntheticVoice } from "./synthetic-voice.ts";
import { writeWave } from "./write-wave.ts";

const samples = Float32Array.of(0, 0.5, -1, 0.25, 1 - 2 ** -15);

describe("readWave", () => {
  it("reads what writeWave wrote", () => {
    expect(readWave(writeWave({ sampleRate: 16_000, samples }))).toEqual({ sampleRate: 16_000, samples });
  });

  it("steps over parts that say nothing of the sound, and over the byte after one of odd length", () => {
    const file = writeWave({ sampleRate: 8_000, samples });
    const note = Uint8Array.of(...new TextEncoder().encode("LIST"), 3, 0, 0, 0, 1, 2, 3, 0);
    const longer = new Uint8Array([...file.subarray(0, 36), ...note, ...file.subarray(36)]);
    expect(readWave(longer)).toEqual({ sampleRate: 8_000, samples });
  });

  it("refuses what it cannot read", () => {
    const file = writeWave({ sampleRate: 16_000, samples });
    expect(() => readWave(file.subarray(1))).toThrow("not a WAVE file");
    expect(() => readWave(file.subarray(0, 36))).toThrow("a WAVE file without sound");
    const stereo = file.slice();
    stereo[22] = 2;
    expect(() => readWave(stereo)).toThrow("format 1, 2 channels of 16 bits where 1, 1, 16 are read");
  });
});

describe("syntheticVoice", () => {
  it("is the same for equal seeds, another for another, and never too loud", () => {
    expect(syntheticVoice(3, 4_000)).toEqual(syntheticVoice(3, 4_000));
    expect(syntheticVoice(3, 4_000)).not.toEqual(syntheticVoice(4, 4_000));
    const loudest = Math.max(...syntheticVoice(0, 40_000).map(Math.abs));
    expect(loudest).toBeGreaterThan(0.3);
    expect(loudest).toBeLessThanOrEqual(1);
  });
});
