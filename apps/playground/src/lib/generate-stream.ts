import type { Exchange } from "./v2.ts";
import { modelUrl, V2Error } from "./v2.ts";

/** One event of a language model. */
export interface TextPiece {
  readonly text_output: string;
  readonly num_output_tokens: number;
  /** Of the last. */
  readonly finish_reason?: string;
}

export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly onPiece: (piece: TextPiece) => void;
}

/**
 * Triton's generate extension with nothing but `fetch`: reads server-sent events as they come, to their end. Aborting the signal
 * stops the model, too, and counts as an end. Throws `V2Error` for an error in the place of an event.
 */
export async function generateStream(
  model: string,
  request: Readonly<Record<string, unknown>>,
  { onPiece, signal }: StreamOptions,
): Promise<Exchange> {
  const url = modelUrl(model, "/generate_stream");
  const events: unknown[] = [];
  const started = performance.now();
  let status = 0;
  const exchange = (response: unknown): Exchange => ({
    url,
    method: "POST",
    request,
    requestBinaryBytes: 0,
    status,
    response,
    responseBinaryBytes: 0,
    milliseconds: performance.now() - started,
  });
  try {
    const response = await fetch(url, { method: "POST", body: JSON.stringify(request), signal });
    status = response.status;
    if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
      throw new V2Error(exchange(await response.json()));
    }
    for await (const event of eventsOf(response)) {
      const piece: unknown = JSON.parse(event);
      events.push(piece);
      if (!isPiece(piece)) throw new V2Error(exchange(piece));
      onPiece(piece);
    }
  } catch (failure) {
    if (!signal.aborted) throw failure;
  }
  return exchange(events);
}

/** The data of each event. */
async function* eventsOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) yield event.replace(/^data: /, "");
  }
}

function isPiece(piece: unknown): piece is TextPiece {
  return typeof piece === "object" && piece !== null && "text_output" in piece;
}
