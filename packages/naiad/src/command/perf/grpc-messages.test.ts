import { gunzipSync, inflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGrpcMessageReader, grpcFrame } from "./grpc-messages.ts";

describe("gRPC's messages", () => {
  it("come out of their frames, in whatever pieces they come", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (messages, size) => {
          const bytes = Buffer.concat(messages.map((message) => grpcFrame(message)));
          const reader = createGrpcMessageReader();
          const found: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; at += size) {
            found.push(...reader.push(bytes.subarray(at, at + size)));
          }
          reader.end();
          expect(found.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
        },
      ),
      { seed: 2026 },
    );
  });

  it("are compressed where that is asked for", () => {
    const message = new Uint8Array(100).fill(7);
    const zipped = grpcFrame(message, "gzip");
    expect(zipped[0]).toBe(1);
    expect([...gunzipSync(zipped.subarray(5))]).toEqual([...message]);
    expect([...inflateSync(grpcFrame(message, "deflate").subarray(5))]).toEqual([...message]);
  });

  it("are refused where they are cut off or compressed", () => {
    const reader = createGrpcMessageReader();
    expect(reader.push(Buffer.from([0, 0, 0, 0, 2, 1]))).toEqual([]);
    expect(() => {
      reader.end();
    }).toThrow("cut off");
    expect(() => createGrpcMessageReader().push(Buffer.from([1, 0, 0, 0, 0]))).toThrow("compressed");
  });
});
