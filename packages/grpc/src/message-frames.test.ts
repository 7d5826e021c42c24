import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFrameReader, frameOf } from "./message-frames.ts";

const MEGABYTE = 1024 * 1024;

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function errorOf(act: () => unknown): ConnectError {
  try {
    act();
  } catch (thrown) {
    return ConnectError.from(thrown);
  }
  throw new Error("nothing was thrown");
}

describe("a reader of frames", () => {
  it("finds the messages wherever the body is cut", () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 6 });
    const cuts = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(messages, cuts, (sent, lengths) => {
        const body = joined(sent.map((message) => frameOf([message])));
        const reader = createFrameReader(20);
        const found: Uint8Array[] = [];
        let offset = 0;
        for (let at = 0; offset < body.length; at += 1) {
          const length = lengths[at] ?? body.length;
          found.push(...reader.push(body.subarray(offset, offset + length)));
          offset += length;
        }
        reader.end();
        expect(found).toEqual(sent);
      }),
      { seed: 6 },
    );
  });

  it("copies no message that comes in one piece, and is nobody's buffer of Node", () => {
    const body = Buffer.from(joined([frameOf([Uint8Array.of(1, 2)]), frameOf([Uint8Array.of(3)])]));
    const found = createFrameReader(10).push(body);
    expect(found).toEqual([Uint8Array.of(1, 2), Uint8Array.of(3)]);
    expect(found.map(({ buffer }) => buffer === body.buffer)).toEqual([true, true]);
    expect(found.map((one) => Buffer.isBuffer(one))).toEqual([false, false]);
  });

  it("reserves little for a message that only promises to be long", () => {
    const reader = createFrameReader(2 ** 31 - 1);
    const head = Uint8Array.of(0, 0x7f, 0xff, 0xff, 0xff, 9);
    expect(reader.push(head)).toEqual([]);
    expect(reader.push(new Uint8Array(17 * MEGABYTE))).toEqual([]);
  });

  it("grows with a message that is long", () => {
    const content = new Uint8Array(40 * MEGABYTE);
    for (let at = 0; at < content.length; at += 99_991) content[at] = at % 251;
    const body = frameOf([content]);
    const reader = createFrameReader(body.length);
    const found: Uint8Array[] = [];
    for (let offset = 0; offset < body.length; offset += MEGABYTE) {
      found.push(...reader.push(body.subarray(offset, offset + MEGABYTE)));
    }
    expect(found.map(({ length }) => length)).toEqual([content.length]);
    expect(Buffer.compare(found[0] ?? content.subarray(0, 0), content)).toBe(0);
  });

  it.each([
    [
      "a message beyond the limit",
      [0, 0, 0, 0, 11],
      Code.ResourceExhausted,
      "Received message larger than max (11 vs. 10)",
    ],
    ["an unknown frame", [2, 0, 0, 0, 0], Code.Internal, "Bad GRPC frame type 0x02"],
    [
      "a compressed message",
      [1, 0, 0, 0, 0],
      Code.Internal,
      "a compressed message came without grpc-encoding",
    ],
  ])("refuses %s at its head", (_what, head, code, text) => {
    const error = errorOf(() => createFrameReader(10).push(Uint8Array.from(head)));
    expect([error.code, error.rawMessage]).toEqual([code, text]);
  });

  it.each([
    ["the head", [0, 0, 0]],
    ["the message", [0, 0, 0, 0, 2, 7]],
  ])("does not take an end inside %s for one", (_where, bytes) => {
    const reader = createFrameReader(10);
    reader.push(Uint8Array.from(bytes));
    expect(errorOf(() => reader.end()).code).toBe(Code.InvalidArgument);
  });
});
