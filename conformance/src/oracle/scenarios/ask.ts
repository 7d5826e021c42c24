import type { OracleRequest } from "../oracle-request.ts";

const encoder = new TextEncoder();

type Headers = OracleRequest["headers"];

export function ask(
  method: string,
  target: string,
  body: string | Uint8Array = "",
  headers: Headers = [],
): OracleRequest {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const shown = typeof body === "string" ? body.slice(0, 120) : `${body.byteLength} bytes`;
  const name = [method, target, ...headers.map(([key, value]) => `${key}: ${value}`), shown].join(" ").trim();
  return { name, method, target, headers, body: bytes };
}

export const get = (target: string): OracleRequest => ask("GET", target);
export const post = (target: string, body: string | Uint8Array = "", headers: Headers = []): OracleRequest =>
  ask("POST", target, body, headers);

export function joined(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part))),
  );
}

/** A body whose JSON part is `header`, with a true or a given header length. */
export function binary(
  target: string,
  header: string,
  content: Uint8Array,
  length = String(encoder.encode(header).byteLength),
): OracleRequest {
  return post(target, joined(header, content), [["Inference-Header-Content-Length", length]]);
}
