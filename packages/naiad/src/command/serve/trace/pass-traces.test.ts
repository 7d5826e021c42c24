import type { TraceNote } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { madeUpTrace } from "../../../../test/made-up-trace.ts";
import { createTracePassage } from "./pass-traces.ts";
import type { TraceConsumer } from "./trace-consumer.ts";

async function* notesOf(...notes: readonly (TraceNote | Error)[]): AsyncGenerator<TraceNote> {
  for (const note of notes) {
    if (note instanceof Error) throw note;
    yield await Promise.resolve(note);
  }
}

describe("the traces of hosts, one after another", () => {
  it("keep ids of their own", async () => {
    const taken: unknown[] = [];
    const log: string[] = [];
    const consumer: TraceConsumer = {
      take: (note) => {
        taken.push(
          note.kind === "trace"
            ? [
                note.trace.setting.id,
                note.trace.requests.map(({ id, parentId }) => [id, parentId]),
                note.trace.activities.map(({ id }) => id),
              ]
            : ["end", note.settingId],
        );
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
    const passage = createTracePassage(consumer, { log: (level, text) => log.push(`${level}: ${text}`) });
    const ensemble = madeUpTrace(1, { id: 2 });
    const child = { id: 2, parentId: 1, modelName: "a", modelVersion: 1, requestId: "" };
    const trace = { ...ensemble, requests: [...ensemble.requests, child] };
    const ended = { kind: "setting-ended", settingId: 2, logFrequency: 0 } as const;
    await passage.pass(notesOf({ kind: "trace", trace }, ended, new Error("the browser is gone")));
    await passage.pass(
      notesOf(
        { kind: "dropped", count: 3 },
        { kind: "trace", trace },
        { kind: "trace", trace: madeUpTrace(3) },
        ended,
      ),
    );
    expect(taken).toEqual([
      [
        2,
        [
          [1, undefined],
          [2, 1],
        ],
        [1],
      ],
      ["end", 2],
      [
        4,
        [
          [3, undefined],
          [4, 3],
        ],
        [3],
      ],
      [3, [[5, undefined]], [5]],
      ["end", 4],
    ]);
    expect(log).toEqual(["warning: 3 traces were dropped: they came faster than they could be written"]);
  });
});
