import { FUNCTION, InferenceError, STRING, checkOptionKinds, dictionary, oneOf } from "@naiad/protocol";
import type { OptionKind } from "@naiad/protocol";
import type { HttpAnswer } from "./http-answer.ts";
import { readAnswer } from "./http-answer.ts";
import type { HttpCall } from "./http-call.ts";
import { httpCallOf } from "./http-call.ts";
import type { Transport } from "./transport.ts";

export interface FetchTransportOptions {
  /** Where `/v2` lives: an origin, with a base path if there is one. Default: this page's origin. */
  readonly url?: string;
  /** Sent with every request, for example for a restricted API. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * How tensors travel. Default `binary`, Triton's extension of the protocol; `json` is for servers of KServe's V2 protocol that
   * lack it, and cannot carry FP16 and BF16.
   */
  readonly tensors?: "binary" | "json";
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

const OPTIONS: { readonly [Name in keyof Required<FetchTransportOptions>]: OptionKind } = {
  url: STRING,
  headers: dictionary(STRING),
  tensors: oneOf("binary", "json"),
  fetch: FUNCTION,
};

/**
 * Triton's HTTP API: Naiad through its service worker, a real Triton, or another server of KServe's V2 protocol. The server is not
 * told of an abort before its answer: no browser passes it on to a service worker. Throws a `TypeError` that names an
 * option that makes no sense.
 */
export function createFetchTransport(options: FetchTransportOptions = {}): Transport {
  checkOptionKinds(options, { subject: "createFetchTransport", kinds: OPTIONS });
  const { url = "", headers = {}, tensors = "binary", fetch = fetchOfThisRealm } = options;
  const base = url.replace(/\/+$/, "");

  async function exchange(call: HttpCall, signal: AbortSignal | undefined): Promise<HttpAnswer> {
    const init: RequestInit = {
      method: call.method,
      headers: { ...headers, ...call.headers },
      ...(call.body !== undefined && { body: call.body }),
      ...(signal !== undefined && { signal }),
    };
    try {
      const response = await fetch(base + call.path, init);
      const body = new Uint8Array(await response.arrayBuffer());
      checkWhole(response, body);
      return { status: response.status, headers: response.headers, body };
    } catch (thrown) {
      if (signal?.aborted === true) {
        throw new InferenceError("CANCELLED", "request was cancelled", { cause: thrown });
      }
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      throw new InferenceError("UNAVAILABLE", `${call.method} ${base}${call.path}: ${text}`, {
        cause: thrown,
      });
    }
  }

  return {
    async call(operation, input, { signal } = {}) {
      return readAnswer(operation, await exchange(httpCallOf(operation, input, tensors), signal));
    },
    async *stream() {
      await Promise.resolve();
      throw new InferenceError(
        "UNSUPPORTED",
        "Triton's HTTP API has no streaming inference: use the client of a server on this page, or " +
          "fetch 'v2/models/<model>/generate_stream'",
      );
    },
  };
}

/** Looked up at each call, so that what wraps `fetch` later is used too. */
function fetchOfThisRealm(url: string, init: RequestInit): Promise<Response> {
  return globalThis.fetch(url, init);
}

/**
 * Firefox ends a body as if it were whole when the service worker dies in the middle of it. A compressed body has another
 * length than its header says, and a cross-origin answer does not tell whether it was compressed.
 */
function checkWhole({ headers, type }: Response, body: Uint8Array): void {
  const length = headers.get("content-length");
  if (length === null || type === "cors" || headers.has("content-encoding")) return;
  if (Number(length) !== body.length)
    throw new Error(`broke off after ${String(body.length)} of ${length} bytes`);
}
