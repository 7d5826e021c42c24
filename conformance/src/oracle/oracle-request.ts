import { gunzipSync, inflateSync } from "node:zlib";

/** One request to the oracle and to the server under test, as plain data. */
export interface OracleRequest {
  /** Says what is asked; unique in its scenario. */
  readonly name: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** Requests in their order to one fresh server. */
export interface Scenario {
  readonly name: string;
  /** In mode `none` these models are all there are; in mode `explicit` they are the ones to load at the start. */
  readonly control: "explicit" | "none";
  readonly loadModels: readonly string[];
  readonly requests: readonly OracleRequest[];
}

/** What was answered, as it is kept in a golden file. */
export interface RecordedAnswer {
  readonly name: string;
  readonly request: string;
  readonly status: number;
  /** Only those that mean something to a client. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly text: string } | { readonly base64: string };
}

export interface Recording {
  readonly scenario: string;
  /** Version that the recorded server gave itself. */
  readonly server: string;
  readonly answers: readonly RecordedAnswer[];
}

function unpacked(bytes: Uint8Array, encoding: string): Uint8Array {
  switch (encoding) {
    case "gzip":
      return gunzipSync(bytes);
    case "deflate":
      return inflateSync(bytes);
    default:
      return bytes;
  }
}

const MEANINGFUL = ["content-type", "content-encoding", "inference-header-content-length", "accept-encoding"];

export function meaningfulHeaders(
  headers: readonly (readonly [name: string, value: string])[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    headers
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => MEANINGFUL.includes(name)),
  );
}

/** Text where it is text, so that a golden file can be read; unpacked, since no two programs pack alike. */
export function recordedBody(packed: Uint8Array, encoding = ""): RecordedAnswer["body"] {
  const bytes = unpacked(packed, encoding);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

    if (!/[\u0000-\u0008\u000b-\u001f]/.test(text)) return { text };
  } catch {
    // Not text.
  }
  return { base64: Buffer.from(bytes).toString("base64") };
}
