import type { HeaderList, WireError } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

/** First line and headers of a request, and the word for what is spoken in its body. */
export interface TunnelRequestHead {
  /** Chooses the handler of the answering end, for example `http`. */
  readonly protocol: string;
  readonly method: string;
  readonly rawTarget: string;
  readonly headers: HeaderList;
}

export interface TunnelAnswerHead {
  readonly status: number;
  readonly headers: HeaderList;
}

/** What is known of a body only when it is over. */
export interface BodyEnd {
  readonly trailers: HeaderList;
  /** As in `ExchangeRequest`; of requests only. */
  readonly chunkCount?: number;
}

/**
 * What two ends of a tunnel say to each other. `stream` numbers the exchanges, counted by the asking end. `open` goes to the
 * answering end and `answer` comes back; each of the two bodies is any number of `piece` and one `end`. The end of the answer
 * is the end of the exchange, whatever of the request is still under way. `cancel`, from either end, ends it at once.
 */
export type Frame =
  | { readonly kind: "open"; readonly stream: number; readonly head: TunnelRequestHead }
  | { readonly kind: "answer"; readonly stream: number; readonly head: TunnelAnswerHead }
  | { readonly kind: "piece"; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly stream: number; readonly end: BodyEnd }
  | { readonly kind: "cancel"; readonly stream: number; readonly error: WireError }
  /** So many more bytes of body may come. */
  | { readonly kind: "credit"; readonly stream: number; readonly byteLength: number }
  /** Answered by `pong`; tells of an end whose thread is stuck, which no connection does. */
  | { readonly kind: "ping" }
  | { readonly kind: "pong" };

/** Position is the number on the wire; only ever append. */
const KINDS: readonly Frame["kind"][] = [
  "open",
  "answer",
  "piece",
  "end",
  "cancel",
  "credit",
  "ping",
  "pong",
];

/** Kind (1 byte), stream (4) and length of the content (4), big-endian. */
export const FRAME_HEAD_BYTES = 9;

/** Bytes of body that may be under way in one direction of one exchange before the receiver gives credit. */
export const TUNNEL_WINDOW_BYTES: number = 1024 * 1024;

/** A longer piece would keep other exchanges waiting. */
export const PIECE_BYTES: number = 256 * 1024;

export function frameByteLength(frame: EncodedFrame): number {
  return FRAME_HEAD_BYTES + frame.content.length;
}

/** A frame whose content is bytes already. */
export interface EncodedFrame {
  readonly kind: number;
  readonly stream: number;
  /** Of a piece the piece itself, not a copy. */
  readonly content: Uint8Array;
}

export function encodeFrame(frame: Frame): EncodedFrame {
  const stream = "stream" in frame ? frame.stream : 0;
  return { kind: KINDS.indexOf(frame.kind), stream, content: contentOf(frame) };
}

function contentOf(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case "open":
    case "answer":
      return json(frame.head);
    case "piece":
      return frame.bytes;
    case "end":
      return frame.end.trailers.length === 0 && frame.end.chunkCount === undefined
        ? NOTHING
        : json(frame.end);
    case "cancel":
      return json(frame.error);
    case "credit": {
      const content = new Uint8Array(4);
      new DataView(content.buffer).setUint32(0, frame.byteLength);
      return content;
    }
    case "ping":
    case "pong":
      return NOTHING;
  }
}

const NOTHING = new Uint8Array(0);

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Frames in one message, copied into it. */
export function joinFrames(frames: readonly EncodedFrame[]): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(frames.reduce((sum, frame) => sum + frameByteLength(frame), 0));
  const view = new DataView(message.buffer);
  let offset = 0;
  for (const { kind, stream, content } of frames) {
    view.setUint8(offset, kind);
    view.setUint32(offset + 1, stream);
    view.setUint32(offset + 5, content.length);
    message.set(content, offset + FRAME_HEAD_BYTES);
    offset += FRAME_HEAD_BYTES + content.length;
  }
  return message;
}

/** The frames of one message; pieces are views on it. Throws INTERNAL for what no end of a tunnel sends. */
export function splitFrames(message: Uint8Array): readonly Frame[] {
  const frames: Frame[] = [];
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  let offset = 0;
  while (offset < message.length) {
    if (offset + FRAME_HEAD_BYTES > message.length) throw malformed("a frame is cut off");
    const kind = KINDS[view.getUint8(offset)];
    const stream = view.getUint32(offset + 1);
    const start = offset + FRAME_HEAD_BYTES;
    offset = start + view.getUint32(offset + 5);
    if (offset > message.length) throw malformed("a frame is cut off");
    if (kind === undefined) throw malformed("a frame is of no known kind");
    frames.push(decodeFrame(kind, stream, message.subarray(start, offset)));
  }
  return frames;
}

function decodeFrame(kind: Frame["kind"], stream: number, content: Uint8Array): Frame {
  switch (kind) {
    case "open":
      return { kind, stream, head: parse(content, isRequestHead) };
    case "answer":
      return { kind, stream, head: parse(content, isAnswerHead) };
    case "piece":
      return { kind, stream, bytes: content };
    case "end":
      return { kind, stream, end: content.length === 0 ? { trailers: [] } : parse(content, isBodyEnd) };
    case "cancel":
      return { kind, stream, error: parse(content, isWireError) };
    case "credit":
      if (content.length !== 4) throw malformed("credit without a number");
      return {
        kind,
        stream,
        byteLength: new DataView(content.buffer, content.byteOffset, 4).getUint32(0),
      };
    case "ping":
    case "pong":
      return { kind };
  }
}

function parse<Value extends Fields>(content: Uint8Array, holds: (value: Fields) => value is Value): Value {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(content));
  } catch (error) {
    throw malformed("text that is no JSON", error);
  }
  // Any object may be asked for any field.
  const fields = typeof value === "object" && value !== null ? (value as Fields) : {};
  if (holds(fields)) return fields;
  throw malformed("a frame with fields that do not fit its kind");
}

type Fields = Readonly<Record<string, unknown>>;

function isRequestHead(value: Fields): value is Fields & TunnelRequestHead {
  const { protocol, method, rawTarget, headers } = value;
  return [protocol, method, rawTarget].every((one) => typeof one === "string") && isHeaderList(headers);
}

function isAnswerHead(value: Fields): value is Fields & TunnelAnswerHead {
  const { status, headers } = value;
  return Number.isInteger(status) && isHeaderList(headers);
}

function isBodyEnd(value: Fields): value is Fields & BodyEnd {
  const { trailers, chunkCount } = value;
  return isHeaderList(trailers) && (chunkCount === undefined || Number.isInteger(chunkCount));
}

function isWireError(value: Fields): value is Fields & WireError {
  const { code, message } = value;
  return typeof code === "string" && typeof message === "string";
}

function isHeaderList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isHeader);
}

function isHeader(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((text) => typeof text === "string");
}

function malformed(what: string, cause?: unknown): InferenceError {
  return new InferenceError("INTERNAL", `the other end of the tunnel sent ${what}`, { cause });
}
