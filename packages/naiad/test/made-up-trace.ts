import type { Trace, TraceStamp } from "@naiad/protocol";

/** For tests: a trace of one request with one time. */
export function madeUpTrace(id: number, stamp: Partial<TraceStamp> = {}, more: Partial<Trace> = {}): Trace {
  return {
    setting: { id: 1, logFrequency: 0, completes: false, counted: false, ...stamp },
    origin: { ns: 0, epochMs: 1000 },
    id,
    requests: [{ id, modelName: "m", modelVersion: 1, requestId: "" }],
    activities: [{ kind: "timestamp", id, name: "REQUEST_START", ns: id }],
    ...more,
  };
}
