/**
 * One HTTP exchange as plain data, the shape shared by the gateway, tests and whatever else delivers HTTP. A `Request` would not do:
 * building one drops Accept-Encoding, Content-Length, Host and TE and rewrites the path, and Triton routes on the raw path.
 */
export interface ExchangeRequest {
  readonly method: string;
  /** Path and query as they stood in the request line, undecoded, with any base path already removed: `/v2/models/a%2Fb`. */
  readonly rawTarget: string;
  readonly headers: HeaderList;
  /** The whole body; empty when there is none. The handler may keep views on it. */
  readonly body: Uint8Array;
  /** In how many pieces that were not empty the body came, where it was sent in chunks and the transport counts them. */
  readonly chunkCount?: number;
  /** When the request began to come, where the transport asks the server's tracing for the time. */
  readonly receivedNs?: number;
  /** Fires when the requester has gone. */
  readonly signal: AbortSignal;
}

/** A request of which parts may still be under way while it is answered, as those of a gRPC stream are. */
export interface StreamingExchangeRequest extends Omit<ExchangeRequest, "body"> {
  /** Whole, or in pieces, which end or throw when `signal` fires. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: HeaderList;
  /** Whole, or in pieces; each piece's buffer belongs to the receiver. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Resolves after the body has ended. */
  readonly trailers?: Promise<HeaderList>;
}

/** Name and value pairs in order; names in lower case. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export type ExchangeHandler = (request: ExchangeRequest) => Promise<ExchangeResponse>;
export type StreamingExchangeHandler = (request: StreamingExchangeRequest) => Promise<ExchangeResponse>;

/** The first value of a header, or `undefined`. `name` is in lower case. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1];
}
