import { decodeTokens } from "./decode-tokens.js";
import { makeReady } from "./make-ready.js";
import { createTextStream } from "./text-stream.js";

/** @import { InferenceRequest, InferenceResponse, ModelArgs } from "naiad/model" */

/**
 * @typedef {object} Settings Parameters of the configuration.
 * @property {string} tokenizer Model: TEXT to IDS, and VOCABULARY.
 * @property {string} decoder Model: see `decodeTokens`.
 * @property {number} contextLength Tokens of prompt and answer together.
 * @property {readonly number[]} endTokens
 */

/**
 * @typedef {object} Piece A part of an answer.
 * @property {string} text
 * @property {number} tokens How many have been decoded since the piece before.
 * @property {"stop" | "length"} [finishReason] Of the last.
 */

const DEFAULT_MAX_TOKENS = 64;

/**
 * Text from a prompt, in the manner of Triton's vLLM backend: whole, or with `stream` piece by piece as the decoder finds it. Any
 * number of requests are decoded at the same time, each as a sequence, and share the decoder's executions.
 */
export default class LanguageModel {
  /** @type {ModelArgs | undefined} */
  args;
  /** @type {Settings} */
  settings = { tokenizer: "", decoder: "", contextLength: 0, endTokens: [] };
  /** @type {Promise<readonly Uint8Array[]> | undefined} */
  #vocabulary;

  /** @param {ModelArgs} args */
  initialize(args) {
    this.args = args;
    this.settings = readSettings(args.modelConfig);
  }

  /** @param {readonly InferenceRequest[]} requests */
  async execute(requests) {
    await Promise.all(requests.map((request) => this.#answer(request)));
  }

  /** @param {InferenceRequest} request */
  async #answer(request) {
    const sender = request.getResponseSender();
    try {
      const { excludesInput, stream, ...prompt } = readPrompt(request);
      let whole = excludesInput ? "" : prompt.text;
      let tokens = 0;
      for await (const piece of this.#pieces(prompt, request.signal)) {
        whole += piece.text;
        tokens += piece.tokens;
        if (stream) await sender.send(responseOf(piece), finalFlag(piece));
        else if (piece.finishReason !== undefined) {
          await sender.send(responseOf({ ...piece, text: whole, tokens }), finalFlag(piece));
        }
      }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      await sender.send(new triton.InferenceResponse({ error }), triton.RESPONSE_COMPLETE_FINAL);
    }
  }

  /**
   * @param {{ readonly text: string, readonly maxTokens: number, readonly stop: readonly string[] }} prompt
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Piece, void>}
   */
  async *#pieces({ text, maxTokens, stop }, signal) {
    if (this.args === undefined) throw new Error("the model is not initialized");
    const { contextLength, decoder, endTokens } = this.settings;
    const { infer } = this.args;
    const vocabulary = await this.#prepared();
    const ids = await this.#tokenize(text, signal);
    if (ids.length > contextLength) {
      throw new triton.ModelError(
        `the prompt has ${String(ids.length)} tokens, and the model has room for ${String(contextLength)}`,
        "INVALID_ARG",
      );
    }
    const limit = Math.min(maxTokens, contextLength - ids.length + 1);
    const written = createTextStream(stop);
    /** @type {Piece} */
    let piece = { text: "", tokens: 0 };
    let count = 0;
    for await (const token of decodeTokens(ids, limit, { infer, decoder, signal })) {
      count += 1;
      const isEnd = endTokens.includes(token);
      const more = isEnd ? "" : written.push(vocabulary[token] ?? new Uint8Array(0));
      // The space in front of a text that begins here is the tokenizer's and not the writer's.
      const isOpening = count === 1 && ids.length === 1;
      piece = {
        text: piece.text + (isOpening ? more.replace(/^ /, "") : more),
        tokens: piece.tokens + 1,
        ...((isEnd || written.isStopped) && { finishReason: /** @type {const} */ ("stop") }),
      };
      // The last piece waits until the sequence is over.
      if (piece.finishReason !== undefined || count === limit) break;
      if (piece.text === "") continue;
      yield piece;
      piece = { text: "", tokens: 0 };
    }
    const rest = written.end();
    yield {
      ...piece,
      text: piece.text + rest,
      finishReason: piece.finishReason ?? (written.isStopped ? "stop" : "length"),
    };
  }

  /**
   * @param {string} text
   * @param {AbortSignal} signal
   */
  async #tokenize(text, signal) {
    const response = await this.#ask(text, "IDS", signal);
    return Array.from(response.output("IDS")?.as("INT64") ?? [], Number);
  }

  /** Once for all requests; again by the next one where it failed. */
  #prepared() {
    this.#vocabulary ??= this.#prepare().catch((error) => {
      this.#vocabulary = undefined;
      throw error;
    });
    return this.#vocabulary;
  }

  /** The other models stand ready, and this one knows what each token stands for. */
  async #prepare() {
    if (this.args === undefined) throw new Error("the model is not initialized");
    const { decoder, tokenizer } = this.settings;
    await Promise.all([makeReady(this.args, tokenizer), makeReady(this.args, decoder)]);
    return (await this.#ask("", "VOCABULARY")).output("VOCABULARY")?.elements ?? [];
  }

  /**
   * @param {string} text
   * @param {string} outputName
   * @param {AbortSignal} [signal]
   */
  async #ask(text, outputName, signal) {
    if (this.args === undefined) throw new Error("the model is not initialized");
    const response = await this.args.infer({
      modelName: this.settings.tokenizer,
      inputs: [new triton.Tensor("TEXT", [text], [1], "BYTES")],
      requestedOutputNames: [outputName],
      ...(signal !== undefined && { signal }),
    });
    if (response.error !== undefined) throw response.error;
    return response;
  }
}

/** @param {InferenceRequest} request */
function readPrompt(request) {
  const [text = ""] = request.input("text_input")?.as("BYTES") ?? [];
  const [maxTokens = DEFAULT_MAX_TOKENS] = request.input("max_tokens")?.as("INT32") ?? [];
  if (maxTokens < 1) throw new triton.ModelError("max_tokens must be at least 1", "INVALID_ARG");
  const stream = request.input("stream")?.as("BOOL")[0] === 1;
  const exclude = request.input("exclude_input_in_output")?.as("BOOL")[0];
  if (stream && exclude === 0) {
    throw new triton.ModelError(
      "a stream cannot begin with the input again: leave exclude_input_in_output out",
      "INVALID_ARG",
    );
  }
  const stop = request.input("stop")?.as("BYTES") ?? [];
  return { text, maxTokens, stop, stream, excludesInput: stream || exclude === 1 };
}

/**
 * @param {string} modelConfig
 * @returns {Settings}
 */
function readSettings(modelConfig) {
  const { parameters = {} } = JSON.parse(modelConfig);
  /** @param {string} name */
  const read = (name) => {
    const value = parameters[name]?.string_value;
    if (typeof value === "string" && value !== "") return value;
    throw new Error(`the configuration needs the parameter '${name}'`);
  };
  return {
    tokenizer: read("tokenizer"),
    decoder: read("decoder"),
    contextLength: Number(read("context_length")),
    endTokens: read("end_tokens").split(",").map(Number),
  };
}

/**
 * @param {Piece} piece
 * @returns {InferenceResponse}
 */
function responseOf({ finishReason, text, tokens }) {
  return new triton.InferenceResponse({
    outputTensors: [
      new triton.Tensor("text_output", [text], [1], "BYTES"),
      new triton.Tensor("num_output_tokens", Uint32Array.of(tokens), [1]),
      ...(finishReason === undefined
        ? []
        : [new triton.Tensor("finish_reason", [finishReason], [1], "BYTES")]),
    ],
  });
}

/** @param {Piece} piece */
function finalFlag({ finishReason }) {
  return finishReason === undefined ? 0 : triton.RESPONSE_COMPLETE_FINAL;
}
