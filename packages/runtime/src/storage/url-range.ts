import type { ByteRange } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface UrlRangeRead {
  readonly url: string;
  /** What the file is called in texts. */
  readonly shownAs: string;
  readonly range: ByteRange;
  readonly signal: AbortSignal;
  readonly fetch: Fetch;
  /** URLs whose ranges are of no use, remembered across reads: they are read from the start. */
  readonly withoutRanges: Set<string>;
}

/**
 * The bytes of a range as they arrive. A server that answers with the whole file is read from its start and left at the
 * end of the range. Throws UNAVAILABLE where another attempt may help, NOT_FOUND where it will not. Leaving the iteration
 * early ends the transfer.
 */
export async function* readUrlRange(read: UrlRangeRead): AsyncGenerator<Uint8Array, void, undefined> {
  const { range, shownAs } = read;
  if (range.start === range.end) return;
  const answer = await openRange(read);
  let skip = range.start - answer.start;
  let wanted = range.end - range.start;
  for await (const piece of bodyOf(answer.response)) {
    const bytes = piece.subarray(skip, skip + wanted);
    skip -= Math.min(skip, piece.byteLength);
    wanted -= bytes.byteLength;
    if (bytes.byteLength > 0) yield bytes;
    if (wanted === 0) return;
  }
  const total = range.end - range.start;
  throw unavailable(shownAs, `the answer ended after ${String(total - wanted)} of ${String(total)} bytes`);
}

interface RangeAnswer {
  readonly response: Response;
  /** Where in the file the body begins. */
  readonly start: number;
}

async function openRange(read: UrlRangeRead): Promise<RangeAnswer> {
  const { fetch, range, shownAs, signal, url, withoutRanges } = read;
  const asksRange = !withoutRanges.has(url);
  const headers: Record<string, string> = asksRange
    ? { range: `bytes=${String(range.start)}-${String(range.end - 1)}` }
    : {};
  // Content goes into our own store; a copy in the HTTP cache would double it and may be stale.
  const response = await fetch(url, { cache: "no-store", headers, signal });
  const refuse = async (error: InferenceError): Promise<never> => {
    await response.body?.cancel().catch(() => undefined);
    throw error;
  };

  if (response.status === 416) {
    return refuse(unavailable(shownAs, "the file is shorter than the manifest says (a deploy in progress?)"));
  }
  if (!response.ok) {
    const status = `HTTP status ${String(response.status)}`;
    const mayRecover = response.status >= 500 || response.status === 429 || response.status === 408;
    return refuse(
      mayRecover ? unavailable(shownAs, status) : new InferenceError("NOT_FOUND", `${shownAs}: ${status}`),
    );
  }
  if (response.headers.get("content-type")?.includes("text/html") === true && !/\.html?$/i.test(url)) {
    return refuse(
      new InferenceError(
        "NOT_FOUND",
        `${shownAs}: the server answered with an HTML page instead of the file`,
      ),
    );
  }
  if (response.status !== 206) return { response, start: 0 };

  if (isEncoded(response)) {
    // These would be bytes of the compressed form. Without a range the body arrives decoded and whole.
    withoutRanges.add(url);
    await response.body?.cancel().catch(() => undefined);
    if (asksRange) return openRange(read);
    return refuse(
      unavailable(shownAs, "the server answered with part of a compressed form that nobody asked for"),
    );
  }
  const start = startOf(response) ?? range.start;
  if (start > range.start) {
    return refuse(
      unavailable(
        shownAs,
        `the server answered with bytes from ${String(start)} when asked from ${String(range.start)}`,
      ),
    );
  }
  return { response, start };
}

function isEncoded(response: Response): boolean {
  const encoding = response.headers.get("content-encoding");
  return encoding !== null && encoding !== "" && encoding !== "identity";
}

/** Absent also where another origin's server does not expose the header; the hash of the content still tells. */
function startOf(response: Response): number | undefined {
  const match = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "");
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Not every browser can iterate over a ReadableStream. */
async function* bodyOf(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // After the end this does nothing; before it, it ends the transfer.
    await reader.cancel().catch(() => undefined);
  }
}

function unavailable(shownAs: string, what: string): InferenceError {
  return new InferenceError("UNAVAILABLE", `${shownAs}: ${what}`);
}
