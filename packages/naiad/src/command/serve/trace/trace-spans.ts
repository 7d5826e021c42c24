import type { HrTime, Span, Tracer } from "@opentelemetry/api";
import { createTraceState, ROOT_CONTEXT, SpanKind, trace as traceApi } from "@opentelemetry/api";
import type { Trace, TracedRequest } from "@naiad/protocol";

/**
 * Makes of a trace the spans that Triton's mode opentelemetry has: `InferRequest` with what happened at the end point, in it
 * one of the model's name for each request, and in that `compute`. Of a model's own activities, from `<name>_START` to
 * `<name>_END` is a span. (Triton's `InferRequest` begins when the request was read; here it has begun with the reading.)
 */
export function recordSpans(tracer: Tracer, trace: Trace): void {
  const { activities, id: rootId, parent, requests } = trace;
  const times = activities.flatMap((activity) => (activity.kind === "timestamp" ? [activity.ns] : []));
  const timeOf = (ns: number): HrTime => epochTime(trace, ns);
  const start = (name: string, ns: number, inside: Span | undefined): Span =>
    tracer.startSpan(
      name,
      { kind: SpanKind.SERVER, startTime: timeOf(ns) },
      inside === undefined ? clientContext(parent) : traceApi.setSpan(ROOT_CONTEXT, inside),
    );

  const root = start("InferRequest", times.reduce(least, trace.origin.ns), undefined);
  /** By request, those that have begun and not ended, the innermost last, and what begins their times' names. */
  const open = new Map<number, OpenSpan[]>([[rootId, [{ span: root, prefix: "" }]]]);
  const byId = new Map(requests.map((request) => [request.id, request]));

  for (const activity of activities) {
    if (activity.kind !== "timestamp") continue;
    const { id, name, ns } = activity;
    if (AT_END_POINT.test(name)) {
      root.addEvent(name, timeOf(ns));
      continue;
    }
    const spans = open.get(id) ?? [];
    open.set(id, spans);
    const request = byId.get(id);
    const opened = openedBy(name, request);
    if (opened !== undefined) {
      const inside = spans.at(-1) ?? open.get(request?.parentId ?? rootId)?.at(-1);
      const span = start(opened, ns, inside?.span ?? root);
      if (name === "REQUEST_START" && request !== undefined) describe(span, request);
      spans.push({ span, prefix: name.slice(0, -"_START".length) });
    }
    const ended = name === "COMPUTE_INPUT_END" ? -1 : lastThatEnds(spans, name);
    (spans[ended] ?? spans.at(-1))?.span.addEvent(name, timeOf(ns));
    // One inside of it that goes on has an end of its own to come.
    if (ended >= 0) for (const { span } of spans.splice(ended, 1)) span.end(timeOf(ns));
  }
  const endTime = timeOf(times.reduce(greatest, trace.origin.ns));
  for (const spans of open.values()) {
    for (const { span } of spans.reverse()) if (span !== root) span.end(endTime);
  }
  root.end(endTime);
}

interface OpenSpan {
  readonly span: Span;
  readonly prefix: string;
}

/** Which of them ends with a time of this name; -1: none. */
function lastThatEnds(spans: readonly OpenSpan[], name: string): number {
  return spans.findLastIndex(({ prefix }) => prefix !== "" && name === `${prefix}_END`);
}

/** What Triton tells of by its front ends. */
const AT_END_POINT = /^(HTTP_|GRPC_|INFER_RESPONSE_COMPLETE$)/;

/** The name of the span that begins with it. */
function openedBy(name: string, request: TracedRequest | undefined): string | undefined {
  if (name === "REQUEST_START") return request?.modelName;
  if (name === "COMPUTE_START") return "compute";
  if (name === "QUEUE_START" || name === "COMPUTE_OUTPUT_START") return undefined;
  return /^(.+)_START$/.exec(name)?.[1];
}

function describe(span: Span, { id, modelName, modelVersion, parentId = 0, requestId }: TracedRequest): void {
  span.setAttributes({
    "triton.model_name": modelName,
    "triton.model_version": modelVersion,
    "triton.trace_id": id,
    "triton.trace_parent_id": parentId,
    ...(requestId !== "" && { "triton.request_id": requestId }),
  });
}

function clientContext(parent: Trace["parent"]): typeof ROOT_CONTEXT {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags, state } = parent;
  return traceApi.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(state !== "" && { traceState: createTraceState(state) }),
  });
}

/** Exact to the nanosecond against the other times of the trace; a number holds no date to the nanosecond. */
function epochTime({ origin }: Trace, ns: number): HrTime {
  const originNs = BigInt(Math.round(origin.epochMs * 1000)) * 1000n;
  const epochNs = originNs + BigInt(Math.round(ns - origin.ns));
  return [Number(epochNs / 1_000_000_000n), Number(epochNs % 1_000_000_000n)];
}

const least = (a: number, b: number): number => Math.min(a, b);
const greatest = (a: number, b: number): number => Math.max(a, b);
