import { continueText, TINY_DECODER, tinyDecoderModel, tinyStory } from "@naiad/testing/fixture-models";
import { InferenceSession, Tensor } from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const { capacity, firstByte, heads, headWidth, layers, vocabulary } = TINY_DECODER;
const CACHE = 2 * layers * heads * capacity * headWidth;

let session: InferenceSession;
beforeAll(async () => {
  session = await InferenceSession.create(tinyDecoderModel());
});
afterAll(() => session.release());

interface Row {
  readonly token: number;
  readonly position: number;
  readonly cache: Float32Array;
}

interface Told {
  readonly logits: Float32Array;
  readonly cache: Float32Array;
}

async function step(rows: readonly Row[]): Promise<readonly Told[]> {
  const numbers = (of: (row: Row) => number): Tensor =>
    new Tensor(
      "int64",
      BigInt64Array.from(rows, (row) => BigInt(of(row))),
      [rows.length, 1],
    );
  const caches = new Float32Array(rows.length * CACHE);
  for (const [index, { cache }] of rows.entries()) caches.set(cache, index * CACHE);
  const outputs = await session.run({
    input_ids: numbers(({ token }) => token),
    position: numbers(({ position }) => position),
    cache: new Tensor("float32", caches, [rows.length, 2 * layers, heads, capacity, headWidth]),
  });
  const row = (name: string, index: number, size: number): Float32Array =>
    (outputs[name]?.data as Float32Array).slice(index * size, (index + 1) * size);
  return rows.map((_, index) => ({
    logits: row("logits", index, vocabulary),
    cache: row("cache_out", index, CACHE),
  }));
}

const begin = (): Float32Array => new Float32Array(CACHE);
const bestOf = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));
const idsOf = (text: string): readonly number[] => [
  TINY_DECODER.begin,
  ...new TextEncoder().encode(text).map((byte) => byte + firstByte),
];

/** What the model says behind the prompt, one token a step and with its own cache. */
async function decode(prompt: readonly number[], count: number): Promise<readonly number[]> {
  const ids: number[] = [];
  let cache: Float32Array = begin();
  for (let position = 0; ids.length < count; position += 1) {
    const token = prompt[position] ?? ids.at(-1) ?? NaN;
    const [told] = await step([{ token, position, cache }]);
    if (told === undefined) throw new Error("no row");
    cache = told.cache;
    if (position >= prompt.length - 1) ids.push(bestOf(told.logits));
  }
  return ids;
}

describe("tinyDecoderModel", () => {
  it.each(["", " Once upon a time", " a", " Zwölf Boxkämpfer"])(
    "says behind '%s' what plain arithmetic without a cache says",
    async (text) => {
      const { ids, margins } = continueText(idsOf(text), 64);
      expect(Math.min(...margins)).toBeGreaterThan(1e-3);
      expect(await decode(idsOf(text), 64)).toEqual(ids);
    },
  );

  it("is small, and says the same for ever", () => {
    expect(tinyDecoderModel().length).toBeLessThan(300 * 1024);
    expect(tinyStory("Once upon a time", 40)).toBe("holehon etam ekeh evetalepek   mumunohot");
  });

  it("goes on to the last position", async () => {
    const ids = await decode(idsOf(""), capacity);
    expect(ids).toHaveLength(capacity);
    expect(new Set(ids).size).toBeGreaterThan(10);
  });

  it("gives each row of a batch what the row alone gets, wherever the others are", async () => {
    const rows: Row[] = [];
    for (const [token, position] of [
      [70, 0],
      [104, 1],
      [35, 17],
      [120, capacity - 1],
    ] as const) {
      const cache = Float32Array.from({ length: CACHE }, (_, index) => Math.sin(index * (position + 1)));
      rows.push({ token, position, cache });
    }
    const together = await step(rows);
    for (const [index, row] of rows.entries()) {
      const [alone] = await step([row]);
      expect(together[index]?.cache).toEqual(alone?.cache);
      expectClose(together[index]?.logits, alone?.logits);
    }
  });

  it("does not look at later positions, whatever stands there", async () => {
    const dirty = begin().fill(NaN);
    expect(await step([{ token: 70, position: 0, cache: dirty }])).toEqual(
      await step([{ token: 70, position: 0, cache: begin() }]),
    );
  });

  it("gives NaN to a row that cannot be, and its neighbours their logits", async () => {
    const good = { token: 70, position: 3, cache: begin() };
    const [alone] = await step([good]);
    for (const bad of [{ position: capacity }, { position: -1 }, { token: vocabulary }, { token: -1 }]) {
      const [before, between, after] = await step([good, { ...good, ...bad }, good]);
      expect(between?.logits.every(Number.isNaN)).toBe(true);
      expectClose(before?.logits, alone?.logits);
      expectClose(after?.logits, alone?.logits);
    }
  });
});

/** Sums of a batch may be taken in another order than those of one row. */
function expectClose(actual: Float32Array | undefined, expected: Float32Array | undefined): void {
  const differences = [...(expected ?? [])].map((each, index) => Math.abs(each - (actual?.[index] ?? NaN)));
  expect(differences).toHaveLength(vocabulary);
  expect(Math.max(...differences)).toBeLessThan(1e-4);
}
