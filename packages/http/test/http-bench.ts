import type { ExchangeResponse, HeaderList, JsonValue } from "@naiad/protocol";
import { encodeJson, headerValue, parseJson } from "@naiad/protocol";
import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench } from "@naiad/testing";
import { createHttpHandler } from "../src/http-handler.ts";
import type { HttpOptions } from "../src/http-options.ts";

/** A whole server behind the HTTP handler: everything is real but clock, repository and backend. */
export interface HttpBench {
  readonly bench: ServerBench;
  readonly get: (target: string, headers?: HeaderList) => Promise<Answer>;
  /** `body`: a text or bytes as they are, anything else as JSON. */
  readonly post: (target: string, body?: Body, headers?: HeaderList) => Promise<Answer>;
  /** As it comes, with a body that may be in pieces. Nothing makes time pass. */
  readonly exchange: (target: string, body: Body, signal?: AbortSignal) => Promise<ExchangeResponse>;
  readonly send: (method: string, target: string, body?: Body, headers?: HeaderList) => Promise<Answer>;
}

type Body = string | Uint8Array | JsonValue;

export interface Answer {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** What the text says; throws where it is no JSON. */
  readonly json: JsonValue;
  /** The text of Triton's error body, `""` for any other. */
  readonly error: string;
  readonly header: (name: string) => string | undefined;
}

export interface HttpBenchOptions extends ServerBenchOptions {
  readonly http?: Partial<HttpOptions>;
  /** Models to load; default: all of `models`. */
  readonly load?: readonly string[];
}

export async function createHttpBench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const bench = createServerBench(options);
  const handle = createHttpHandler({
    handlers: bench.server,
    tracing: bench.tracing,
    maxInputSize: 64 * 1024 * 1024,
    ...options.http,
  });
  await bench.start();
  for (const name of options.load ?? Object.keys(options.models ?? {})) await bench.load(name);

  async function send(
    method: string,
    rawTarget: string,
    body?: Body,
    headers: HeaderList = [],
  ): Promise<Answer> {
    const answering = handle({
      method,
      rawTarget,
      headers,
      body: bytesOfBody(body),
      signal: new AbortController().signal,
    });
    let isAnswered = false;
    void answering.then(() => (isAnswered = true));
    // Time passes only where the answer waits for it: a server that polls its repository never comes to rest.
    await bench.until(() => isAnswered).catch(() => bench.finish());
    return readAnswer(await answering);
  }

  return {
    bench,
    send,
    exchange: (rawTarget, body, signal = new AbortController().signal) =>
      handle({ method: "POST", rawTarget, headers: [], body: bytesOfBody(body), signal }),
    get: (target, headers) => send("GET", target, undefined, headers),
    post: (target, body, headers) => send("POST", target, body, headers),
  };
}

function bytesOfBody(body: Body | undefined): Uint8Array {
  if (body === undefined) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  return typeof body === "string" ? new TextEncoder().encode(body) : encodeJson(body);
}

export async function readAnswer({ status, headers, body }: ExchangeResponse): Promise<Answer> {
  const bytes = await wholeBody(body);
  const text = new TextDecoder().decode(bytes);
  return {
    status,
    bytes,
    text,
    get json() {
      return parseJson(text);
    },
    get error() {
      return status < 400 || text === "" ? "" : errorText(parseJson(text));
    },
    header: (name) => headerValue(headers, name),
  };
}

async function wholeBody(body: ExchangeResponse["body"]): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const pieces: number[] = [];
  for await (const piece of body) pieces.push(...piece);
  return Uint8Array.from(pieces);
}

function errorText(value: JsonValue): string {
  if (typeof value !== "object" || value === null || !("error" in value)) return "";
  return typeof value.error === "string" ? value.error : "";
}
