import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HttpResponse } from "./http-response.ts";
import { createResponseReader } from "./http-response.ts";

/** Gives the bytes in pieces that end at `cuts`. */
function read(text: string, cuts: readonly number[] = []): HttpResponse | undefined {
  const bytes = Buffer.from(text, "latin1");
  const reader = createResponseReader();
  let response: HttpResponse | undefined;
  const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((one, other) => one - other);
  let start = 0;
  for (const end of ends) {
    if (end > start) response = reader.push(bytes.subarray(start, end)) ?? response;
    start = end;
  }
  return response;
}

function textOf(response: HttpResponse | undefined): string | undefined {
  return response && Buffer.from(response.body()).toString("latin1");
}

describe("the reader of a response", () => {
  it.each([
    ["a body of a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"],
    ["no body", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: y\r\n\r\n", ""],
    ["a status without a body", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    [
      "chunks and trailers",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nhel\r\n2\r\nlo\r\n0\r\nx-t: 1\r\n\r\n",
      "hello",
    ],
    [
      "an interim response before it",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
      "ok",
    ],
  ])("reads %s, in whatever pieces it comes", (_, text, body) => {
    const [, status] = /HTTP\/1\.1 (2\d\d)/.exec(text) ?? [];
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        const response = read(text, cuts);
        expect(textOf(response)).toBe(body);
        expect(response?.status).toBe(Number(status));
        expect(response?.keepsAlive).toBe(true);
      }),
      { seed: 2026 },
    );
  });

  it("knows headers whatever their case, and who ends the connection", () => {
    const response = read("HTTP/1.1 200 OK\r\nX-One:  1 \r\nConnection: close\r\ncontent-length: 0\r\n\r\n");
    expect(response?.header("x-one")).toBe("1");
    expect(response?.header("x-two")).toBeUndefined();
    expect(response?.keepsAlive).toBe(false);
    expect(read("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n")?.keepsAlive).toBe(false);
  });

  it("takes all that comes until the end where no length is said", () => {
    const reader = createResponseReader();
    expect(reader.push(Buffer.from("HTTP/1.1 200 OK\r\n\r\nab"))).toBeUndefined();
    expect(reader.push(Buffer.from("c"))).toBeUndefined();
    const response = reader.end();
    expect(textOf(response)).toBe("abc");
    expect(response.keepsAlive).toBe(false);
  });

  it("tells what is cut off from what has never come", () => {
    const reader = createResponseReader();
    expect(() => reader.end()).toThrow("ended without an answer");
    reader.push(Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"));
    expect(() => reader.end()).toThrow("in the middle of an answer");
  });

  it.each([
    ["SSH-2.0\r\n\r\n", "no status line"],
    ["HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "its length is 'x'"],
    ["HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc", "more came than a response"],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxy\r\n", "'xy' is no size of a chunk"],
  ])("refuses %j", (text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
