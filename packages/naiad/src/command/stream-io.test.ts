import { Writable } from "node:stream";
import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createStreamIo } from "./stream-io.ts";

describe("what a command writes", () => {
  it("is lines", () => {
    const written: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written.push(String(chunk));
        done();
      },
    });
    const io = createStreamIo(stream, stream);
    io.out("a");
    io.error("b");
    expect(written).toEqual(["a\n", "b\n"]);
  });

  it("is lost where its reader has gone, and no more than that", async () => {
    const gone = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      },
    });
    const io = createStreamIo(gone, gone);
    io.out("a");
    await tick();
    io.out("b");
    await tick();
    expect(gone.destroyed).toBe(true);
  });
});
