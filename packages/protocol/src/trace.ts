import type { HeaderList } from "./exchange.ts";

/** Traces: what happened when to a request that was picked out, with Triton's names. */

export type TraceLevel = "TIMESTAMPS" | "TENSORS";

/** One request of a client that was traced, with those that it led to. Plain data. */
export interface Trace {
  readonly setting: TraceStamp;
  /** A point in time on both clocks: by it the timestamps, which count from nowhere, become dates. */
  readonly origin: { readonly ns: number; readonly epochMs: number };
  /** What the client's own trace knows this request as; told in mode opentelemetry alone. */
  readonly parent?: TraceParent;
  /** What happened at the end point that took the request, and to the request of the client itself. */
  readonly id: number;
  /** In the order in which they began; the client's own is first. Empty where it was refused before it began. */
  readonly requests: readonly TracedRequest[];
  /** By their time, of all requests; tensors stand behind what was told before them of their request. */
  readonly activities: readonly TraceActivity[];
}

/** The settings that picked the request out. */
export interface TraceStamp {
  /** Of one setting from its change to the next. Ascending. */
  readonly id: number;
  readonly logFrequency: number;
  /** With this trace the setting's `trace_count` is used up, and all that it picked out are there. */
  readonly completes: boolean;
  /** Settings with a count that ends write to a numbered file when it does. */
  readonly counted: boolean;
}

export interface TracedRequest {
  readonly id: number;
  /** Of the request that led to it; absent for the client's. */
  readonly parentId?: number;
  readonly modelName: string;
  readonly modelVersion: number;
  readonly requestId: string;
}

export type TraceActivity =
  | { readonly kind: "timestamp"; readonly id: number; readonly name: string; readonly ns: number }
  | {
      readonly kind: "tensor";
      readonly id: number;
      readonly activity: "TENSOR_QUEUE_INPUT" | "TENSOR_BACKEND_OUTPUT";
      readonly name: string;
      /** Elements with commas between; empty for what has no such text. */
      readonly data: string;
      readonly shape: readonly number[];
      readonly datatype: string;
    };

/** W3C's trace context. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly flags: number;
  readonly state: string;
}

/** What a reader of traces gets. */
export type TraceNote =
  | { readonly kind: "trace"; readonly trace: Trace }
  /** So many were given up because nobody read them in time. */
  | { readonly kind: "dropped"; readonly count: number }
  /** All traces that the setting picked out are there, and no more will be. */
  | { readonly kind: "setting-ended"; readonly settingId: number; readonly logFrequency: number };

/** The trace of a request at the end point that took it, before and after the server's work on it. */
export interface EdgeTrace {
  /** Now, or at a time of the tracing's clock. */
  mark(name: EdgeMark, ns?: number): void;
  /** Nothing more happens to the request here. To be called once. */
  end(): void;
}

export type EdgeMark =
  | "HTTP_RECV_START"
  | "HTTP_RECV_END"
  | "HTTP_SEND_START"
  | "HTTP_SEND_END"
  | "GRPC_WAITREAD_START"
  | "GRPC_WAITREAD_END"
  | "GRPC_SEND_START"
  | "GRPC_SEND_END";

/** What end points ask whether requests are traced. */
export interface EdgeTracing {
  /** The time, for a mark of a request that is not known yet; `undefined` while nothing is traced. */
  nowNs(): number | undefined;
  /** `undefined`: this request is not traced. Each call counts as a request. */
  begin(request: { readonly modelName: string; readonly headers: HeaderList }): EdgeTrace | undefined;
}

export type RequestTracing =
  | { readonly kind: "edge"; readonly trace: EdgeTrace | undefined }
  /** A request that a model makes: traced only as part of the trace of one that is open. */
  | { readonly kind: "inner"; readonly parentId: number | undefined };

/** `traceparent` and `tracestate` as W3C writes them; `undefined` for none or an invalid one. */
export function readTraceParent(headers: HeaderList): TraceParent | undefined {
  const value = (name: string): string | undefined => headers.find(([key]) => key === name)?.[1];
  const [, version = "", traceId = "", spanId = "", flags = "", more = ""] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
      value("traceparent")?.trim() ?? "",
    ) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== "")) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: value("tracestate") ?? "" };
}
