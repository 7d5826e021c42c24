import { InferenceError } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Frame } from "./frame.ts";
import { encodeFrame, FRAME_HEAD_BYTES, joinFrames, splitFrames } from "./frame.ts";

const stream = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const headers = fc.array(fc.tuple(fc.string(), fc.string({ unit: "binary" })), { maxLength: 3 });
const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    kind: fc.constant("open" as const),
    stream,
    head: fc.record({ protocol: fc.string(), method: fc.string(), rawTarget: fc.string(), headers }),
  }),
  fc.record({
    kind: fc.constant("answer" as const),
    stream,
    head: fc.record({ status: fc.integer({ min: 100, max: 599 }), headers }),
  }),
  fc.record({ kind: fc.constant("piece" as const), stream, bytes: fc.uint8Array() }),
  fc.record({
    kind: fc.constant("end" as const),
    stream,
    end: fc.record({ trailers: headers, chunkCount: fc.nat() }, { requiredKeys: ["trailers"] }),
  }),
  fc.record({
    kind: fc.constant("cancel" as const),
    stream,
    error: fc.record({ code: fc.constant("CANCELLED" as const), message: fc.string() }),
  }),
  fc.record({ kind: fc.constant("credit" as const), stream, byteLength: fc.nat() }),
  fc.record({ kind: fc.constantFrom("ping" as const, "pong" as const) }),
);

describe("frames", () => {
  it("come out of a message as they went in, in order", () => {
    fc.assert(
      fc.property(fc.array(frames), fc.nat(7), (sent, shift) => {
        const message = joinFrames(sent.map(encodeFrame));
        // A message may be a view in the middle of a larger buffer.
        const shifted = new Uint8Array(message.length + shift);
        shifted.set(message, shift);
        // fast-check's records have no prototype.
        expect(structuredClone(splitFrames(shifted.subarray(shift)))).toEqual(structuredClone(sent));
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it("are views on the message where they are pieces", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const message = joinFrames([encodeFrame({ kind: "piece", stream: 1, bytes })]);
    const [piece] = splitFrames(message);
    expect(piece).toEqual({ kind: "piece", stream: 1, bytes });
    expect(piece?.kind === "piece" && piece.bytes.buffer === message.buffer).toBe(true);
    expect(message.length).toBe(FRAME_HEAD_BYTES + 3);
  });

  it("fail as a whole, and with an InferenceError, for any other bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (bytes) => {
        try {
          // By chance it may be right; then it means the same again.
          const decoded = splitFrames(bytes);
          expect(splitFrames(joinFrames(decoded.map(encodeFrame)))).toEqual(decoded);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(InferenceError);
          expect(thrown).toMatchObject({ code: "INTERNAL" });
        }
      }),
      { seed: 2, numRuns: 500 },
    );
  });

  it.each([
    ["cut in its head", [2, 0, 0], "cut off"],
    ["cut in its content", [2, 0, 0, 0, 1, 0, 0, 0, 2, 7], "cut off"],
    ["of no known kind", [8, 0, 0, 0, 1, 0, 0, 0, 0], "no known kind"],
    ["with credit of another size", [5, 0, 0, 0, 1, 0, 0, 0, 1, 9], "credit without a number"],
    ["with text that is no JSON", [0, 0, 0, 0, 1, 0, 0, 0, 1, 0x7b], "text that is no JSON"],
    ["with fields missing", [1, 0, 0, 0, 1, 0, 0, 0, 2, 0x7b, 0x7d], "do not fit its kind"],
    ["that is null", [1, 0, 0, 0, 1, 0, 0, 0, 4, 0x6e, 0x75, 0x6c, 0x6c], "do not fit its kind"],
  ])("are refused: one %s", (_what, bytes, text) => {
    expect(() => splitFrames(new Uint8Array(bytes))).toThrow(text);
  });
});
