import type { EdgeTracing, RequestTracing, TraceConfig, TraceParent } from "@naiad/protocol";
import { readTraceParent } from "@naiad/protocol";
import type { Clock, TraceSink } from "../ports.ts";
import { RequestTrace, type TraceHead } from "./request-trace.ts";
import type { TraceControl } from "./trace-control.ts";
import { TraceGroup } from "./trace-group.ts";

/** Picks out the requests that are traced, and sees their traces through. */
export interface Tracing extends EdgeTracing {
  /** The server takes a request on at `startNs`. The result, where the request is traced, is to be finished. */
  take(request: TraceHead, startNs: number, tracing: RequestTracing | undefined): RequestTrace | undefined;
  /** A model says what it does for a request that is open; of another nothing is kept. */
  report(traceId: number, activity: string): void;
  /** Resolves when no trace is open. */
  whole(): Promise<void>;
}

export interface TracingOptions {
  readonly control: TraceControl;
  readonly mode: TraceConfig["mode"];
  readonly sink: TraceSink;
  readonly clock: Clock;
  /** Whether requests of the model can be taken on; as in Triton, others are not counted. Default: of any. */
  readonly serves?: (modelName: string) => boolean;
}

export function createTracing({ control, mode, sink, clock, serves = () => true }: TracingOptions): Tracing {
  /** Requests that are open, for those that they lead to. */
  const open = new Map<number, RequestTrace>();
  const whenWhole: (() => void)[] = [];
  let openCount = 0;
  let lastId = 0;

  function sample(modelName: string, parent: TraceParent | undefined): RequestTrace | undefined {
    const setting = control.settingOf(modelName);
    if (!setting.sample({ isForced: parent !== undefined })) return undefined;
    openCount += 1;
    const origin = { ns: clock.nowNs(), epochMs: clock.epochMs() };
    const own: number[] = [];
    const group = new TraceGroup({
      // Triton's spans have no place for tensors.
      level: mode === "triton" ? setting.level : setting.level.filter((level) => level !== "TENSORS"),
      nowNs: () => clock.nowNs(),
      nextId: () => (lastId += 1),
      onRequest: (request) => {
        own.push(request.id);
        open.set(request.id, request);
      },
      onWhole: (content) => {
        for (const id of own) open.delete(id);
        setting.collect((stamp) => {
          const { id } = root;
          sink.collect({ setting: stamp, origin, ...(parent !== undefined && { parent }), id, ...content });
        });
        openCount -= 1;
        if (openCount === 0) for (const resolve of whenWhole.splice(0)) resolve();
      },
    });
    const root = new RequestTrace(group);
    return root;
  }

  function traceOf({ modelName }: TraceHead, tracing: RequestTracing | undefined): RequestTrace | undefined {
    switch (tracing?.kind) {
      case undefined:
        return sample(modelName, undefined);
      case "edge":
        return tracing.trace instanceof RequestTrace ? tracing.trace : undefined;
      case "inner":
        return tracing.parentId === undefined ? undefined : open.get(tracing.parentId)?.child();
    }
  }

  return {
    nowNs: () => (control.isActive ? clock.nowNs() : undefined),
    begin: ({ modelName, headers }) => {
      if (!control.isActive || !serves(modelName)) return undefined;
      const trace = sample(modelName, mode === "opentelemetry" ? readTraceParent(headers) : undefined);
      trace?.hold();
      return trace;
    },
    take: (request, startNs, tracing) =>
      tracing === undefined && !control.isActive
        ? undefined
        : traceOf(request, tracing)?.begin(request, startNs),
    report: (traceId, activity) => {
      open.get(traceId)?.mark(activity);
    },
    whole: () =>
      openCount === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            whenWhole.push(resolve);
          }),
  };
}
