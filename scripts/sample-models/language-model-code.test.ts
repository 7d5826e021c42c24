import fc from "fast-check";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTextStream } from "./javascript/text-stream.js";
import { encodeText, readVocabulary } from "./javascript/vocabulary.js";
import { languageModels } from "./language-models.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The pieces that a reader is sent, in the end with what was held back. */
function sent(pieces: readonly Uint8Array[], stop: readonly string[] = []): readonly string[] {
  const stream = createTextStream(stop);
  return [...pieces.map((piece) => stream.push(piece)), stream.end()];
}

describe("createTextStream", () => {
  it("sends text as it comes", () => {
    expect(sent([bytesOf("Once"), bytesOf(" upon")])).toEqual(["Once", " upon", ""]);
  });

  it("holds bytes back until their character is whole", () => {
    const [first, second, third] = bytesOf("€");
    const parts = [first, second, third].map((byte) => Uint8Array.of(byte ?? 0));
    expect(sent(parts)).toEqual(["", "", "€", ""]);
  });

  it("makes U+FFFD of what never becomes a character", () => {
    expect(sent([Uint8Array.of(0xe2, 0x82)])).toEqual(["", "\ufffd"]);
  });

  it("ends in front of a stop word, wherever its tokens begin", () => {
    expect(sent([bytesOf("a lo"), bytesOf("t. Th"), bytesOf("en")], [". T"])).toEqual(["a lo", "t", "", ""]);
  });

  it("holds back what may become a stop word, until it does not", () => {
    expect(sent([bytesOf("ab"), bytesOf("ac"), bytesOf("ab")], ["abab"])).toEqual(["", "abac", "", "ab"]);
  });

  it("takes the stop word that comes first", () => {
    expect(sent([bytesOf("one two three")], ["three", "two", ""])).toEqual(["one ", ""]);
  });

  it("sends, however the bytes are cut, what stands in front of the stop word, and no more", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "ä", "€"), maxLength: 24 });
    const words = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "ä"), minLength: 1, maxLength: 3 }), {
      maxLength: 2,
    });
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(letters, words, cuts, (text, stop, places) => {
        const bytes = bytesOf(text);
        const sorted = [0, ...places.map((place) => Math.min(place, bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        );
        const parts = sorted.slice(1).map((end, index) => bytes.slice(sorted[index], end));
        // Where words overlap, it may be the one that is whole first.
        const ends = stop.map((word) => [text.indexOf(word), word] as const).filter(([at]) => at >= 0);
        const whole = sent(parts, stop).join("");
        if (ends.length === 0) expect(whole).toBe(text);
        else {
          expect(text.startsWith(whole)).toBe(true);
          expect(ends.map(([at]) => at)).toContain(whole.length);
        }
      }),
      { seed: 5 },
    );
  });
});

/** A file as llama2.c writes it. */
function vocabularyFile(pieces: readonly (readonly [piece: string, score: number])[]): Uint8Array {
  const parts = pieces.flatMap(([piece, score]) => {
    const head = new DataView(new ArrayBuffer(8));
    head.setFloat32(0, score, true);
    head.setInt32(4, bytesOf(piece).length, true);
    return [...new Uint8Array(head.buffer), ...bytesOf(piece)];
  });
  return Uint8Array.of(0, 0, 0, 0, ...parts);
}

describe("encodeText", () => {
  const BYTES = Array.from({ length: 256 }, (_, byte): readonly [string, number] => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
    0,
  ]);
  const vocabulary = readVocabulary(
    vocabularyFile([
      ["<unk>", 0],
      ["<s>", 0],
      ["</s>", 0],
      ...BYTES,
      [" a", -2],
      ["ab", -1],
      ["aba", -3],
      [" ", -9],
      ["a", -9],
      ["b", -9],
    ]),
  );
  const [SPACE_A, AB, ABA, SPACE, A, B] = [259, 260, 261, 262, 263, 264];

  it("joins the pair with the best score first", () => {
    expect(encodeText("ab", vocabulary)).toEqual([1, SPACE, AB]);
    expect(encodeText("aab", vocabulary)).toEqual([1, SPACE_A, AB]);
    expect(encodeText("aba", vocabulary)).toEqual([1, SPACE, ABA]);
    expect(encodeText("ba", vocabulary)).toEqual([1, SPACE, B, A]);
  });

  it("writes characters that it does not know as bytes", () => {
    expect(encodeText("aé", vocabulary)).toEqual([1, SPACE_A, 3 + 0xc3, 3 + 0xa9]);
  });

  it("has nothing but the beginning for an empty text", () => {
    expect(encodeText("", vocabulary)).toEqual([1]);
  });

  it("loses nothing of any text", async () => {
    const models = await languageModels();
    const file = models.find(({ name }) => name === "tiny_lm_tokenizer")?.files["vocabulary.bin"];
    if (!(file instanceof Uint8Array)) throw new Error("no vocabulary");
    const bytes = readVocabulary(file);
    expect(bytes.pieces).toHaveLength(259);
    for (const each of [vocabulary, bytes]) {
      fc.assert(
        fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 20 }), (text) => {
          const pieces = encodeText(text, each).map((token) => each.pieces[token] ?? new Uint8Array(0));
          expect(sent(pieces).join("")).toBe(` ${text}`);
        }),
        { seed: 5 },
      );
    }
  });

  const dataFolder = process.env["NAIAD_TEST_DATA"];
  it.skipIf(dataFolder === undefined || dataFolder === "")(
    "reads a real vocabulary as its own program does (needs NAIAD_TEST_DATA)",
    async () => {
      const read = (path: string): Promise<Buffer> => readFile(join(dataFolder ?? "", "models", path));
      const real = readVocabulary(await read("stories260K/tok512.bin"));
      const golden = JSON.parse(String(await read("batched/stories260K_batched.golden.json"))) as {
        readonly cases: readonly { readonly prompt: string; readonly prompt_ids: readonly number[] }[];
      };
      for (const { prompt, prompt_ids } of golden.cases) expect(encodeText(prompt, real)).toEqual(prompt_ids);
    },
  );
});
