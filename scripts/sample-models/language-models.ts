import { TINY_DECODER, tinyDecoderModel } from "@naiad/testing/fixture-models";
import { readFile } from "node:fs/promises";
import { javaScriptModel } from "./pipeline-models.ts";
import type { ModelDirectory } from "./write-models.ts";

/** A language model as Triton serves one: tokenizer, decoder, and the model in front of them that clients talk to. */
export async function languageModels(): Promise<readonly ModelDirectory[]> {
  return await Promise.all([
    javaScriptModel({
      name: "tiny_lm",
      modules: ["language-model.js", "decode-tokens.js", "make-ready.js", "text-stream.js"],
    }),
    javaScriptModel({
      name: "tiny_lm_tokenizer",
      modules: ["tokenizer.js", "answer-each.js", "vocabulary.js"],
      files: () => Promise.resolve({ "vocabulary.bin": byteVocabulary() }),
    }),
    decoder(),
  ]);
}

async function decoder(): Promise<ModelDirectory> {
  const name = "tiny_lm_decoder";
  const config = await readFile(new URL(`${name}/config.pbtxt`, import.meta.url), "utf8");
  return { name, files: { "1/model.onnx": tinyDecoderModel(), "config.pbtxt": config } };
}

/** A vocabulary of nothing but special tokens and bytes, in the file format that `javascript/vocabulary.js` reads. */
function byteVocabulary(): Uint8Array {
  const bytes = Array.from({ length: TINY_DECODER.vocabulary - TINY_DECODER.firstByte }, (_, byte) => {
    return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
  });
  const pieces = ["<unk>", "<s>", "</s>", ...bytes].map((piece) => new TextEncoder().encode(piece));
  const file = new DataView(new ArrayBuffer(4 + pieces.reduce((sum, { length }) => sum + 8 + length, 0)));
  file.setInt32(0, Math.max(...pieces.map(({ length }) => length)), true);
  let at = 4;
  for (const piece of pieces) {
    file.setFloat32(at, 0, true);
    file.setInt32(at + 4, piece.length, true);
    new Uint8Array(file.buffer).set(piece, at + 8);
    at += 8 + piece.length;
  }
  return new Uint8Array(file.buffer);
}
