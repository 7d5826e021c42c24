import { seeded } from "../fixture-models/seeded.ts";

const SAMPLE_RATE = 16_000;
/** Frequencies at which the throat resonates, in hertz. */
const VOWELS: readonly (readonly [number, number, number])[] = [
  [730, 1090, 2440],
  [270, 2290, 3010],
  [570, 840, 2410],
  [530, 1840, 2480],
  [300, 870, 2240],
];
const BANDWIDTH = 90;
const SYLLABLE = Math.round(SAMPLE_RATE / 3);

/**
 * Something that a voice detector takes for a voice, mono at 16 kHz in -1..1: pulses of a gliding pitch through a throat of
 * three resonances. Four vowels of a third of a second each, then a pause with a little noise as long as one. Equal seeds
 * give equal samples, and no two small seeds begin alike.
 */
export function syntheticVoice(seed: number, length: number): Float32Array<ArrayBuffer> {
  const throat = [resonator(), resonator(), resonator()];
  const random = seeded(seed + 1);
  const samples = new Float32Array(length);
  let phase = 0;
  for (let index = 0; index < length; index += 1) {
    const time = index + seed * 1_777;
    const syllable = Math.floor(time / SYLLABLE) + seed;
    phase +=
      (110 + 23 * (seed % 4) + 25 * Math.sin((2 * Math.PI * time) / (1.3 * SAMPLE_RATE))) / SAMPLE_RATE;
    const pulse = Math.floor(phase);
    phase -= pulse;
    const vowel = VOWELS[syllable % VOWELS.length] ?? [];
    const voice = throat.reduce(
      (sum, resonate, number) => sum + resonate(pulse, vowel[number] ?? 0) / (number + 1),
      0,
    );
    const loudness = syllable % 5 === 4 ? 0 : Math.sqrt(Math.sin((Math.PI * (time % SYLLABLE)) / SYLLABLE));
    samples[index] = 4 * loudness * voice + 0.002 * (2 * random() - 1);
  }
  return samples;
}

/** A filter of two poles that rings at the frequency given with each sample. */
function resonator(): (sample: number, frequency: number) => number {
  const radius = Math.exp((-Math.PI * BANDWIDTH) / SAMPLE_RATE);
  let [last, before] = [0, 0];
  return (sample, frequency) => {
    const angle = (2 * Math.PI * frequency) / SAMPLE_RATE;
    const output = (1 - radius) * sample + 2 * radius * Math.cos(angle) * last - radius * radius * before;
    [last, before] = [output, last];
    return output;
  };
}
