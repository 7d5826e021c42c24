/** Mono sound. */
export interface Wave {
  readonly sampleRate: number;
  /** Between -1 and 1. */
  readonly samples: Float32Array<ArrayBuffer>;
}

/** Reads a WAVE file of one channel with 16-bit samples. */
export function readWave(bytes: Uint8Array): Wave {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (offset: number): string => new TextDecoder().decode(bytes.subarray(offset, offset + 4));
  if (tag(0) !== "RIFF" || tag(8) !== "WAVE") throw new Error("not a WAVE file");
  let sampleRate: number | undefined;
  for (let offset = 12; offset + 8 <= bytes.byteLength;) {
    const [name, size, content] = [tag(offset), view.getUint32(offset + 4, true), offset + 8];
    if (name === "fmt ") {
      const [format, channels, bits] = [0, 2, 14].map((field) => view.getUint16(content + field, true));
      if (format !== 1 || channels !== 1 || bits !== 16) {
        throw new Error(`format ${format}, ${channels} channels of ${bits} bits where 1, 1, 16 are read`);
      }
      sampleRate = view.getUint32(content + 4, true);
    }
    if (name === "data" && sampleRate !== undefined) {
      const samples = new Float32Array(Math.floor(size / 2));
      for (let index = 0; index < samples.length; index += 1) {
        samples[index] = view.getInt16(content + 2 * index, true) / 32_768;
      }
      return { sampleRate, samples };
    }
    offset = content + size + (size % 2);
  }
  throw new Error("a WAVE file without sound");
}
