import type { Wave } from "./read-wave.ts";

const HEADER = 44;

/** A WAVE file of one channel with 16-bit samples. */
export function writeWave({ sampleRate, samples }: Wave): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const tag = (offset: number, text: string): void => {
    bytes.set(new TextEncoder().encode(text), offset);
  };
  tag(0, "RIFF");
  view.setUint32(4, bytes.byteLength - 8, true);
  tag(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, 2 * sampleRate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  tag(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  for (const [index, sample] of samples.entries()) {
    view.setInt16(HEADER + 2 * index, Math.max(-32_768, Math.min(Math.round(sample * 32_768), 32_767)), true);
  }
  return bytes;
}
