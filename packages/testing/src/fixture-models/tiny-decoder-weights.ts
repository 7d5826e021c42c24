import { seeded } from "./seeded.ts";

/**
 * Tokens are those of byte-level vocabularies in the manner of SentencePiece: unknown, begin and end, and from 3 on the 256
 * bytes.
 */
export const TINY_DECODER = {
  vocabulary: 259,
  begin: 1,
  end: 2,
  firstByte: 3,
  /** Positions of a sequence. */
  capacity: 256,
  width: 32,
  layers: 2,
  heads: 4,
  headWidth: 8,
  hidden: 64,
} as const;

export interface TinyDecoderLayer {
  /** Queries, keys and values side by side: [width, 3 width]. */
  readonly attention: readonly number[];
  /** [width, width] */
  readonly mixed: readonly number[];
  /** [width, hidden] and [hidden, width] */
  readonly widened: readonly number[];
  readonly narrowed: readonly number[];
}

/** Row-major, rows are inputs. Every number is one that FP32 holds exactly. */
export interface TinyDecoderWeights {
  /** [vocabulary, width] */
  readonly tokens: readonly number[];
  /** [capacity, width] */
  readonly positions: readonly number[];
  readonly layers: readonly TinyDecoderLayer[];
  /** [width, vocabulary] and [vocabulary] */
  readonly logits: readonly number[];
  readonly logitsBias: readonly number[];
}

/** Chosen so that over the tests' texts no two tokens come close to each other: rounding cannot change what is said. */
const SEED = 3;
/** How much the network has to say, beside the frequency of letters. */
const LOGITS_SCALE = 0.8;
/** How strongly vowels follow consonants, and these follow vowels. */
const ALTERNATION = 2;

/**
 * A network that was never trained. What it says has no meaning, but it is the same text everywhere, of letters about as
 * frequent as in English, with vowels among them: the first value of a token tells vowel from consonant, and the first
 * row of `logits` wants the other of the two.
 */
export function tinyDecoderWeights(): TinyDecoderWeights {
  const { capacity, firstByte, hidden, vocabulary, width } = TINY_DECODER;
  const random = seeded(SEED);
  const matrix = (rows: number, columns: number, scale: number): number[] =>
    Array.from({ length: rows * columns }, () => Math.fround((random() * 2 - 1) * scale));
  const byInputs = (rows: number, columns: number): number[] => matrix(rows, columns, Math.sqrt(3 / rows));

  const tokens = matrix(vocabulary, width, 1);
  const positions = matrix(capacity, width, 2);
  const layers = Array.from({ length: TINY_DECODER.layers }, () => ({
    attention: byInputs(width, 3 * width),
    mixed: byInputs(width, width),
    widened: byInputs(width, hidden),
    narrowed: byInputs(hidden, width),
  }));
  const logits = matrix(width, vocabulary, LOGITS_SCALE);
  const logitsBias = Array.from({ length: vocabulary }, () => NEVER);
  for (const [letter, perMille] of LETTERS) {
    const token = firstByte + letter.charCodeAt(0);
    const sound = letter === " " ? 0 : VOWELS.includes(letter) ? 1 : -1;
    tokens[token * width] = 3 * sound;
    logits[token] = -ALTERNATION * sound;
    logitsBias[token] = Math.fround(Math.log(perMille));
  }
  return { tokens, positions, layers, logits, logitsBias };
}

const NEVER = -30;
const VOWELS = "aeiou";
/** How often English has each, of a thousand. */
const LETTERS: readonly (readonly [letter: string, perMille: number])[] = [
  [" ", 190],
  ["e", 102],
  ["t", 73],
  ["a", 66],
  ["o", 61],
  ["i", 57],
  ["n", 56],
  ["s", 51],
  ["h", 49],
  ["r", 48],
  ["d", 34],
  ["l", 33],
  ["u", 22],
  ["c", 22],
  ["m", 20],
  ["w", 19],
  ["f", 18],
  ["g", 16],
  ["y", 16],
  ["p", 15],
  ["b", 12],
  ["v", 8],
  ["k", 6],
];
