export { readWave } from "./read-wave.ts";
export type { Wave } from "./read-wave.ts";
export { syntheticVoice } from "./synthetic-voice.ts";
export { writeWave } from "./write-wave.ts";
