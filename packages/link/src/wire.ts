/**
 * The messages of a channel. They are short arrays because structured clone writes an array without property names.
 * `id` counts per asking side; `call`, `open`, `cancel` and `credit` go from the asking to the answering side, `answer`,
 * `item`, `end` and `fail` come back.
 */
export type WireMessage =
  | readonly [kind: "call", id: number, name: string, input: unknown]
  | readonly [kind: "answer", id: number, value: unknown]
  | readonly [kind: "open", id: number, name: string, input: unknown, credits: number]
  | readonly [kind: "item", id: number, value: unknown]
  | readonly [kind: "end", id: number]
  | readonly [kind: "credit", id: number, count: number]
  | readonly [kind: "fail", id: number, code: string, message: string, retryAfterSecs?: number]
  | readonly [kind: "cancel", id: number]
  | readonly [kind: "note", name: string, note: unknown]
  | readonly [kind: "goodbye", code: string, message: string];

const KINDS: ReadonlySet<unknown> = new Set<WireMessage[0]>([
  "call",
  "answer",
  "open",
  "item",
  "end",
  "credit",
  "fail",
  "cancel",
  "note",
  "goodbye",
]);

/** A channel's message, or `undefined` for anything else that travels over the same endpoint. */
export function readWireMessage(data: unknown): WireMessage | undefined {
  // The peer is code of the same wire version, so the kind vouches for the rest.
  return Array.isArray(data) && KINDS.has(data[0]) ? (data as unknown as WireMessage) : undefined;
}
