import type { Trace, TraceNote } from "@naiad/protocol";
import type { ServeLog } from "../serve-log.ts";
import type { TraceConsumer } from "./trace-consumer.ts";

/** Brings the traces of one host after another to their consumer, each under ids of its own. */
export interface TracePassage {
  /** Until the host has told its last. Resolves also where the way to it is lost, and never rejects. */
  pass(notes: AsyncIterable<TraceNote>): Promise<void>;
}

export function createTracePassage(consumer: TraceConsumer, log: Pick<ServeLog, "log">): TracePassage {
  let lastId = 0;
  let lastSettingId = 0;
  return {
    async pass(notes) {
      const offset = { id: lastId, settingId: lastSettingId };
      try {
        for await (const note of notes) {
          switch (note.kind) {
            case "dropped":
              log.log(
                "warning",
                `${String(note.count)} traces were dropped: they came faster than they could be written`,
              );
              break;
            case "setting-ended":
              await consumer.take({ ...note, settingId: note.settingId + offset.settingId });
              break;
            case "trace": {
              const trace = shifted(note.trace, offset);
              lastId = Math.max(lastId, trace.id, ...trace.requests.map(({ id }) => id));
              lastSettingId = Math.max(lastSettingId, trace.setting.id);
              await consumer.take({ kind: "trace", trace });
            }
          }
        }
      } catch {
        // The host is gone, of which others tell.
      }
    },
  };
}

function shifted(trace: Trace, offset: { readonly id: number; readonly settingId: number }): Trace {
  if (offset.id === 0) return trace;
  return {
    ...trace,
    id: trace.id + offset.id,
    setting: { ...trace.setting, id: trace.setting.id + offset.settingId },
    requests: trace.requests.map(({ parentId, ...request }) => ({
      ...request,
      id: request.id + offset.id,
      ...(parentId !== undefined && { parentId: parentId + offset.id }),
    })),
    activities: trace.activities.map((activity) => ({ ...activity, id: activity.id + offset.id })),
  };
}
