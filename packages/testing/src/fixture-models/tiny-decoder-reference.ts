import type { TinyDecoderWeights } from "./tiny-decoder-weights.ts";
import { TINY_DECODER, tinyDecoderWeights } from "./tiny-decoder-weights.ts";

export interface ContinuedText {
  readonly ids: readonly number[];
  /** By how much each token is ahead of the next best: rounding below that changes nothing. */
  readonly margins: readonly number[];
}

/**
 * The tokens that the decoder of `tinyDecoderModel` finds likeliest behind `prompt`, one after the other. The same maths in
 * plain numbers of 64 bits, and without a cache: each token looks at the whole text anew.
 */
export function continueText(prompt: readonly number[], count: number): ContinuedText {
  const weights = tinyDecoderWeights();
  const ids: number[] = [];
  const margins: number[] = [];
  while (ids.length < count) {
    const logits = lastLogits([...prompt, ...ids], weights);
    const [best = NaN, second = NaN] = [...logits].sort((a, b) => b - a);
    ids.push(logits.indexOf(best));
    margins.push(best - second);
  }
  return { ids, margins };
}

/** The same as a text: what a server of this decoder says behind a prompt. */
export function tinyStory(prompt: string, tokens: number): string {
  const { begin, firstByte } = TINY_DECODER;
  // The first word of a text is written as inside of a sentence.
  const bytes = prompt === "" ? [] : [...new TextEncoder().encode(` ${prompt}`)];
  const { ids } = continueText([begin, ...bytes.map((byte) => byte + firstByte)], tokens);
  const text = new TextDecoder().decode(Uint8Array.from(ids, (id) => id - firstByte));
  return prompt === "" ? text.replace(/^ /, "") : text;
}

type Vector = readonly number[];

function lastLogits(ids: readonly number[], weights: TinyDecoderWeights): Vector {
  const { width } = TINY_DECODER;
  let rows = ids.map((id, position) =>
    added(
      weights.tokens.slice(id * width, (id + 1) * width),
      weights.positions.slice(position * width, (position + 1) * width),
    ),
  );
  for (const { attention, mixed, narrowed, widened } of weights.layers) {
    const looked = lookBack(rows.map((row) => times(normal(row), attention)));
    rows = rows.map((row, index) => {
      const attended = added(row, times(looked[index] ?? [], mixed));
      const lit = times(normal(attended), widened).map((each) => Math.max(each, 0));
      return added(attended, times(lit, narrowed));
    });
  }
  return added(times(normal(rows.at(-1) ?? []), weights.logits), weights.logitsBias);
}

/** Each row's heads over itself and the rows before it. A row is its queries, keys and values. */
function lookBack(rows: readonly Vector[]): readonly Vector[] {
  const { heads, headWidth, width } = TINY_DECODER;
  const byHead = Array.from({ length: heads }, (_, head) => {
    const part = (which: number): readonly Vector[] => {
      const start = which * width + head * headWidth;
      return rows.map((row) => row.slice(start, start + headWidth));
    };
    const [queries, keys, values] = [part(0), part(1), part(2)];
    return queries.map((query, index) => {
      const scores = keys.slice(0, index + 1).map((key) => dot(query, key) / Math.sqrt(headWidth));
      return weighted(softmax(scores), values);
    });
  });
  return rows.map((_, index) => byHead.flatMap((head) => head[index] ?? []));
}

/** The sum of the first rows, each times its share. */
function weighted(shares: Vector, rows: readonly Vector[]): Vector {
  const sums = new Float64Array(rows[0]?.length ?? 0);
  for (const [index, share] of shares.entries()) {
    const row = rows[index] ?? [];
    for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? NaN) + share * (row[at] ?? NaN);
  }
  return [...sums];
}

/** The row times a matrix with as many rows as it has values. */
function times(row: Vector, matrix: Vector): Vector {
  const columns = matrix.length / row.length;
  const sums = new Float64Array(columns);
  for (const [index, factor] of row.entries()) {
    for (let column = 0; column < columns; column += 1) {
      sums[column] = (sums[column] ?? NaN) + factor * (matrix[index * columns + column] ?? NaN);
    }
  }
  return [...sums];
}

function normal(row: Vector): Vector {
  const mean = row.reduce((sum, each) => sum + each, 0) / row.length;
  const variance = row.reduce((sum, each) => sum + (each - mean) ** 2, 0) / row.length;
  return row.map((each) => (each - mean) / Math.sqrt(variance + 1e-5));
}

function softmax(values: Vector): Vector {
  const highest = Math.max(...values);
  const powers = values.map((each) => Math.exp(each - highest));
  const sum = powers.reduce((total, each) => total + each, 0);
  return powers.map((each) => each / sum);
}

function added(left: Vector, right: Vector): Vector {
  return left.map((each, index) => each + (right[index] ?? NaN));
}

function dot(left: Vector, right: Vector): number {
  let sum = 0;
  for (const [index, each] of left.entries()) sum += each * (right[index] ?? NaN);
  return sum;
}
