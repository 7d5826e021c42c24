import { answerEach, inputOf } from "./answer-each.js";
import { encodeText, readVocabulary } from "./vocabulary.js";

/** Text to the tokens of `vocabulary.bin`. Whoever wants to turn tokens into text asks for the vocabulary itself, once. */
export default class Tokenizer {
  /** @type {import("./vocabulary.js").Vocabulary | undefined} */
  vocabulary;

  /** @param {import("naiad/model").ModelArgs} args */
  async initialize({ files }) {
    this.vocabulary = readVocabulary(await files.read("vocabulary.bin"));
  }

  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, (request) => {
      const { vocabulary } = this;
      if (vocabulary === undefined) throw new Error("the model is not initialized");
      const [text = ""] = inputOf(request, "TEXT").as("BYTES");
      const ids = BigInt64Array.from(encodeText(text, vocabulary), BigInt);
      const outputs = [new triton.Tensor("IDS", ids, [ids.length])];
      if (request.requestedOutputNames.includes("VOCABULARY")) {
        outputs.push(new triton.Tensor("VOCABULARY", vocabulary.pieces, [vocabulary.pieces.length], "BYTES"));
      }
      return Promise.resolve(outputs);
    });
  }
}
