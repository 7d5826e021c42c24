import type { ExchangeHandler } from "@naiad/protocol";
import type { InferBody } from "./v2-http.ts";

export interface HttpAnswer extends InferBody {
  readonly status: number;
}

/** One request to the handler, and the whole answer. */
export async function send(
  handle: ExchangeHandler,
  method: string,
  rawTarget: string,
  { headers = [], body = new Uint8Array() }: Partial<InferBody> = {},
): Promise<HttpAnswer> {
  const { signal } = new AbortController();
  const answer = await handle({ method, rawTarget, headers, body, signal });
  const pieces: Uint8Array[] = [];
  if (answer.body instanceof Uint8Array) pieces.push(answer.body);
  else for await (const piece of answer.body) pieces.push(piece);
  return {
    status: answer.status,
    headers: answer.headers,
    body: new Uint8Array(Buffer.concat(pieces)),
  };
}

export function textOf({ body }: Pick<HttpAnswer, "body">): string {
  return new TextDecoder().decode(body);
}

/** Rejects with the server's text where the answer is an error. */
export async function sendOk(...request: Parameters<typeof send>): Promise<HttpAnswer> {
  const answer = await send(...request);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${errorOf(answer)}`);
  return answer;
}

/** The text of an error answer. */
export function errorOf(answer: HttpAnswer): string {
  const text = textOf(answer);
  try {
    const { error } = JSON.parse(text) as { readonly error?: string };
    return error ?? text;
  } catch {
    return text;
  }
}
