import type { ExchangeHandler } from "@naiad/protocol";
import { send, sendOk, textOf } from "../http-client.ts";

/** What a language model in the manner of `tiny_lm` is asked. */
export interface Prompt {
  readonly text_input: string;
  readonly max_tokens?: number;
  readonly stop?: string | readonly string[];
  readonly exclude_input_in_output?: boolean;
}

export interface ToldPiece {
  readonly text_output: string;
  readonly num_output_tokens: number;
  readonly finish_reason?: string;
}

/** The whole answer at once. Rejects with the server's text where there is none. */
export async function generate(
  handle: ExchangeHandler,
  modelName: string,
  prompt: Prompt,
): Promise<ToldPiece> {
  const answer = await sendOk(handle, "POST", `/v2/models/${modelName}/generate`, { body: jsonBody(prompt) });
  return JSON.parse(textOf(answer)) as ToldPiece;
}

/**
 * The pieces of the answer as they come. Leaving the loop gives the rest up, as does `signal`. Throws the server's text where
 * an error stands in the place of a piece.
 */
export async function* generateStream(
  handle: ExchangeHandler,
  modelName: string,
  prompt: Prompt,
  { signal }: AbortController = new AbortController(),
): AsyncGenerator<ToldPiece, void> {
  const { body, headers, status } = await handle({
    method: "POST",
    rawTarget: `/v2/models/${modelName}/generate_stream`,
    headers: [],
    body: jsonBody({ ...prompt, stream: true }),
    signal,
  });
  if (!headers.some(([, value]) => value.startsWith("text/event-stream"))) {
    throw new Error(`${status} without events`);
  }
  const chunks = body instanceof Uint8Array ? [body] : body;
  const utf8 = new TextDecoder();
  let text = "";
  for await (const chunk of chunks) {
    text += utf8.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const told = JSON.parse(event.replace(/^data: /, "")) as ToldPiece | { readonly error: string };
      if ("error" in told) throw new Error(told.error);
      yield told;
    }
  }
}

/** The text of all pieces. */
export async function streamedText(
  handle: ExchangeHandler,
  modelName: string,
  prompt: Prompt,
): Promise<string> {
  let text = "";
  for await (const piece of generateStream(handle, modelName, prompt)) text += piece.text_output;
  return text;
}

/** What the server answers where it is expected to refuse. */
export async function refusal(
  handle: ExchangeHandler,
  modelName: string,
  prompt: Prompt,
): Promise<readonly [status: number, text: string]> {
  const answer = await send(handle, "POST", `/v2/models/${modelName}/generate`, { body: jsonBody(prompt) });
  const { error = "" } = JSON.parse(textOf(answer)) as { readonly error?: string };
  return [answer.status, error];
}

function jsonBody(value: Prompt & { readonly stream?: boolean }): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
