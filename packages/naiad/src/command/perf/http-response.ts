import { InferenceError } from "@naiad/protocol";

/** What a server answered on a connection that carries one request at a time. */
export interface HttpResponse {
  readonly status: number;
  /** Of the first header of this name, which is in lower case. */
  header(name: string): string | undefined;
  /** Whole, without the marks of its chunks. */
  body(): Uint8Array;
  /** Whether the connection can carry another request. */
  readonly keepsAlive: boolean;
}

export interface ResponseReader {
  /** Whether anything of the response has come. */
  readonly hasBegun: boolean;
  /** Takes the next bytes, which are its own from now on. Gives the response with the last of them. INTERNAL for what is no HTTP. */
  push(bytes: Buffer): HttpResponse | undefined;
  /** The connection has ended. Gives the response where that was its end; UNAVAILABLE where it is cut off. */
  end(): HttpResponse;
}

type Framing =
  /** Bytes that are still to come. */
  | { readonly kind: "length"; remaining: number }
  /** Bytes of the current chunk and of the line break behind it; none of both where the line with a size comes. */
  | { readonly kind: "chunked"; remaining: number; lineBreak: number; isLast: boolean }
  | { readonly kind: "until-end" };

const HEAD_END = Buffer.from("\r\n\r\n");
const LARGEST_HEAD = 1 << 20;

/** Reads one response of HTTP/1.1. Interim responses (1xx) are passed over. */
export function createResponseReader(): ResponseReader {
  let rest: Buffer = Buffer.alloc(0);
  let head: string | undefined;
  let framing: Framing = { kind: "until-end" };
  let hasBegun = false;
  const pieces: Buffer[] = [];

  function keep(size: number): void {
    if (size > 0) pieces.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }

  /** Whether the body is complete. */
  function readBody(): boolean {
    switch (framing.kind) {
      case "until-end":
        keep(rest.length);
        return false;
      case "length": {
        const size = Math.min(framing.remaining, rest.length);
        framing.remaining -= size;
        keep(size);
        return framing.remaining === 0;
      }
      case "chunked":
        return readChunks(framing);
    }
  }

  function readChunks(chunked: Extract<Framing, { kind: "chunked" }>): boolean {
    while (rest.length > 0) {
      if (chunked.remaining > 0) {
        const size = Math.min(chunked.remaining, rest.length);
        chunked.remaining -= size;
        keep(size);
        continue;
      }
      if (chunked.lineBreak > 0) {
        const size = Math.min(chunked.lineBreak, rest.length);
        chunked.lineBreak -= size;
        rest = rest.subarray(size);
        continue;
      }
      const end = rest.indexOf("\r\n");
      if (end < 0) return false;
      const line = rest.toString("latin1", 0, end);
      rest = rest.subarray(end + 2);
      if (chunked.isLast) {
        // Trailers, up to an empty line.
        if (line === "") return true;
        continue;
      }
      const size = Number.parseInt(line, 16);
      if (!(size >= 0)) throw noHttp(`'${line}' is no size of a chunk`);
      chunked.isLast = size === 0;
      chunked.remaining = size;
      chunked.lineBreak = size === 0 ? 0 : 2;
    }
    return false;
  }

  function responseOf(text: string): HttpResponse {
    if (rest.length > 0) throw noHttp("more came than a response");
    const isOld = text.startsWith("HTTP/1.0");
    const connection = headerIn(text, "connection")?.toLowerCase();
    return {
      status: statusIn(text),
      header: (name) => headerIn(text, name),
      body: () => (pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)),
      keepsAlive:
        framing.kind !== "until-end" && (isOld ? connection === "keep-alive" : connection !== "close"),
    };
  }

  return {
    get hasBegun() {
      return hasBegun;
    },
    push: (bytes) => {
      hasBegun = true;
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      while (head === undefined) {
        const end = rest.indexOf(HEAD_END);
        if (end < 0) {
          if (rest.length > LARGEST_HEAD) throw noHttp("its head has no end");
          return undefined;
        }
        const text = rest.toString("latin1", 0, end);
        rest = rest.subarray(end + HEAD_END.length);
        const status = statusIn(text);
        if (status < 200) continue;
        head = text;
        framing = framingOf(text, status);
      }
      return readBody() ? responseOf(head) : undefined;
    },
    end: () => {
      if (head === undefined || framing.kind !== "until-end") {
        throw new InferenceError(
          "UNAVAILABLE",
          hasBegun
            ? "the connection ended in the middle of an answer"
            : "the connection ended without an answer",
        );
      }
      return responseOf(head);
    },
  };
}

function framingOf(head: string, status: number): Framing {
  if (status === 204 || status === 304) return { kind: "length", remaining: 0 };
  if (headerIn(head, "transfer-encoding")?.toLowerCase().endsWith("chunked") === true) {
    return { kind: "chunked", remaining: 0, lineBreak: 0, isLast: false };
  }
  const length = headerIn(head, "content-length");
  if (length === undefined) return { kind: "until-end" };
  if (!/^\d+$/.test(length)) throw noHttp(`its length is '${length}'`);
  return { kind: "length", remaining: Number(length) };
}

function statusIn(head: string): number {
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
  if (Number.isNaN(status)) throw noHttp("it has no status line");
  return status;
}

const PATTERNS = new Map<string, RegExp>();

function headerIn(head: string, name: string): string | undefined {
  let pattern = PATTERNS.get(name);
  if (pattern === undefined) {
    pattern = new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, "i");
    PATTERNS.set(name, pattern);
  }
  return pattern.exec(head)?.[1]?.trimEnd();
}

function noHttp(reason: string): InferenceError {
  return new InferenceError("INTERNAL", `the server's answer is no HTTP/1.1: ${reason}`);
}
