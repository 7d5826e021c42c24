import type { Trace, TraceNote } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createTraceBook } from "./trace-book.ts";

function trace(id: number, data = ""): Trace {
  return {
    setting: { id: 1, logFrequency: 0, completes: false, counted: false },
    origin: { ns: 0, epochMs: 0 },
    id,
    requests: [],
    activities: [
      { kind: "tensor", id, activity: "TENSOR_QUEUE_INPUT", name: "x", data, shape: [], datatype: "BYTES" },
    ],
  };
}

/** The ids of traces, `-n` for n that were dropped, `e` where a setting has ended. */
function told(note: TraceNote): string {
  switch (note.kind) {
    case "trace":
      return String(note.trace.id);
    case "dropped":
      return `-${String(note.count)}`;
    case "setting-ended":
      return "e";
  }
}

async function all(notes: AsyncIterable<TraceNote>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const note of notes) texts.push(told(note));
  return texts;
}

const FOR_EVER = new AbortController().signal;

describe("createTraceBook", () => {
  it("gives every reader what is kept and then what comes, until it is closed", async () => {
    const book = createTraceBook({ readers: "any" });
    book.collect(trace(1));
    const reading = [all(book.read(FOR_EVER)), all(book.read(FOR_EVER))];
    await Promise.resolve();
    book.collect(trace(2));
    book.settingEnded({ id: 1, logFrequency: 0 });
    book.close();
    expect(await Promise.all(reading)).toEqual([
      ["1", "2", "e"],
      ["1", "2", "e"],
    ]);
    expect(await all(book.read(FOR_EVER))).toEqual(["1", "2", "e"]);
  });

  it("keeps the latest, and says how many others there were", async () => {
    const book = createTraceBook({ readers: "any", capacityBytes: 1500 });
    const early = book.read(FOR_EVER);
    book.collect(trace(1, "x".repeat(300)));
    expect(await early.next()).toMatchObject({ value: { kind: "trace" } });
    book.settingEnded({ id: 1, logFrequency: 0 });
    for (const id of [2, 3, 4]) book.collect(trace(id, "x".repeat(300)));
    book.close();
    expect(await all(early)).toEqual(["-2", "4"]);
    expect(await all(book.read(FOR_EVER))).toEqual(["-3", "4"]);
  });

  it("keeps the latest also where it is larger than all that may be kept", async () => {
    const book = createTraceBook({ readers: "any", capacityBytes: 1 });
    book.collect(trace(1));
    book.collect(trace(2));
    book.close();
    expect(await all(book.read(FOR_EVER))).toEqual(["-1", "2"]);
  });

  it("keeps nothing that its one reader has had, who may come back", async () => {
    const book = createTraceBook({ readers: "one" });
    book.collect(trace(1));
    book.collect(trace(2));
    const first = book.read(FOR_EVER);
    await first.next();
    await first.return();
    book.close();
    expect(await all(book.read(FOR_EVER))).toEqual(["2"]);
    expect(await all(book.read(FOR_EVER))).toEqual([]);
  });

  it("lets a reader go whose signal fires", async () => {
    const book = createTraceBook({ readers: "any" });
    const leaving = new AbortController();
    const reading = all(book.read(leaving.signal));
    await Promise.resolve();
    leaving.abort();
    expect(await reading).toEqual([]);
  });
});
