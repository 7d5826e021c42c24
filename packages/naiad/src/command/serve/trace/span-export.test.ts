import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenTelemetrySetting, Trace, TraceActivity } from "@naiad/protocol";
import { DEFAULT_TRACE_CONFIG } from "@naiad/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { createSpanExport } from "./span-export.ts";

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly { readonly name: string; readonly timeUnixNano: string }[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A collector that keeps what it is sent. */
async function collector(): Promise<{ readonly url: string; readonly bodies: readonly OtlpBody[] }> {
  const bodies: OtlpBody[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      bodies.push(JSON.parse(Buffer.concat(pieces).toString()) as OtlpBody);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1/traces`, bodies };
}

function times(id: number, ...names: readonly (readonly [name: string, ns: number])[]): TraceActivity[] {
  return names.map(([name, ns]) => ({ kind: "timestamp", id, name, ns }));
}

const TRACE: Trace = {
  setting: { id: 1, logFrequency: 0, completes: false, counted: false },
  origin: { ns: 100, epochMs: 1_700_000_000_000 },
  id: 1,
  requests: [
    { id: 1, modelName: "ensemble", modelVersion: 2, requestId: "r" },
    { id: 2, parentId: 1, modelName: "step", modelVersion: 1, requestId: "r" },
  ],
  activities: [
    ...times(
      1,
      ["HTTP_RECV_START", 50],
      ["HTTP_RECV_END", 100],
      ["REQUEST_START", 110],
      ["QUEUE_START", 111],
    ),
    ...times(2, ["REQUEST_START", 120], ["QUEUE_START", 121], ["SORT_START", 130], ["SORT_END", 140]),
    ...times(2, ["COMPUTE_START", 150], ["COMPUTE_INPUT_END", 151], ["COMPUTE_OUTPUT_START", 160]),
    ...times(2, ["COMPUTE_END", 170], ["REQUEST_END", 180]),
    ...times(1, ["INFER_RESPONSE_COMPLETE", 190], ["REQUEST_END", 200]),
    ...times(1, ["HTTP_SEND_START", 210], ["HTTP_SEND_END", 220]),
  ],
};

async function exported(
  trace: Trace,
  settings: readonly (readonly [OpenTelemetrySetting, string])[] = [],
): Promise<{
  readonly spans: readonly OtlpSpan[];
  readonly body: OtlpBody | undefined;
  readonly log: string[];
}> {
  const { url, bodies } = await collector();
  const log: string[] = [];
  const openTelemetry = [["url", url], ...settings] as const;
  const config = { ...DEFAULT_TRACE_CONFIG, mode: "opentelemetry", openTelemetry } as const;
  const consumer = createSpanExport(config, { log: (level, text) => log.push(`${level}: ${text}`) });
  await consumer.take({ kind: "trace", trace });
  await consumer.close();
  const spans = bodies.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  );
  return { spans, body: bodies[0], log };
}

function attributesOf({ attributes }: { readonly attributes: readonly OtlpAttribute[] }): object {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}

describe("the spans of a trace", () => {
  it("are those of Triton's mode opentelemetry, one in another", async () => {
    const { spans, body, log } = await exported(TRACE);
    const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
    const tree = spans.map(({ name, parentSpanId = "", events }) => [
      name,
      nameOf.get(parentSpanId) ?? "",
      events.map((event) => event.name),
    ]);
    expect(Object.fromEntries(tree.map(([name, ...rest]) => [name, rest]))).toEqual({
      InferRequest: [
        "",
        ["HTTP_RECV_START", "HTTP_RECV_END", "INFER_RESPONSE_COMPLETE", "HTTP_SEND_START", "HTTP_SEND_END"],
      ],
      ensemble: ["InferRequest", ["REQUEST_START", "QUEUE_START", "REQUEST_END"]],
      step: ["ensemble", ["REQUEST_START", "QUEUE_START", "REQUEST_END"]],
      SORT: ["step", ["SORT_START", "SORT_END"]],
      compute: ["step", ["COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END"]],
    });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    // SPAN_KIND_SERVER.
    expect(spans.every(({ kind }) => kind === 2)).toBe(true);
    expect(body?.resourceSpans[0]?.scopeSpans[0]?.scope.name).toBe("triton-server");
    expect(log).toEqual([]);
  });

  it("say what their request is, and when things happened to the nanosecond", async () => {
    const { spans } = await exported(TRACE);
    const step = spans.find(({ name }) => name === "step");
    expect(step && attributesOf(step)).toEqual({
      "triton.model_name": "step",
      "triton.model_version": 1,
      "triton.trace_id": 2,
      "triton.trace_parent_id": 1,
      "triton.request_id": "r",
    });
    expect(step).toMatchObject({
      startTimeUnixNano: "1700000000000000020",
      endTimeUnixNano: "1700000000000000080",
      events: [{}, { timeUnixNano: "1700000000000000021" }, {}],
    });
    const root = spans.find(({ name }) => name === "InferRequest");
    expect(root).toMatchObject({
      startTimeUnixNano: "1699999999999999950",
      endTimeUnixNano: "1700000000000000120",
    });
  });

  it("go on with the client's own", async () => {
    const parent = { traceId: "ab".repeat(16), spanId: "cd".repeat(8), flags: 0, state: "k=v" };
    const { spans } = await exported({ ...TRACE, parent });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([parent.traceId]));
    expect(spans.find(({ name }) => name === "InferRequest")).toMatchObject({
      parentSpanId: parent.spanId,
      traceState: "k=v",
    });
  });

  it("of a model's own activities lie in what it computed, and its requests in those", async () => {
    const activities = [
      ...times(1, ["REQUEST_START", 110], ["QUEUE_START", 111], ["COMPUTE_START", 112]),
      ...times(1, ["COMPUTE_INPUT_END", 113], ["SORT_START", 115]),
      ...times(2, ["REQUEST_START", 120], ["REQUEST_END", 130]),
      // By other clocks than the activities'.
      ...times(1, ["COMPUTE_OUTPUT_START", 138], ["COMPUTE_END", 139], ["SORT_END", 140]),
      ...times(1, ["NOTHING_END", 141], ["REQUEST_END", 150]),
    ];
    const { spans } = await exported({ ...TRACE, activities });
    const named = (name: string): OtlpSpan | undefined => spans.find((span) => span.name === name);
    expect(named("compute")?.parentSpanId).toBe(named("ensemble")?.spanId);
    expect(named("SORT")?.parentSpanId).toBe(named("compute")?.spanId);
    expect(named("step")?.parentSpanId).toBe(named("SORT")?.spanId);
    expect(named("compute")?.endTimeUnixNano.slice(-3)).toBe("039");
    expect(named("SORT")?.endTimeUnixNano.slice(-3)).toBe("040");
    expect(named("ensemble")?.events.map(({ name }) => name)).toEqual([
      ...["REQUEST_START", "QUEUE_START", "NOTHING_END", "REQUEST_END"],
    ]);
  });

  it("end where their request did not", async () => {
    const { spans } = await exported({ ...TRACE, activities: TRACE.activities.slice(0, 6) });
    expect(spans.map(({ name, endTimeUnixNano }) => [name, endTimeUnixNano.slice(-3)]).sort()).toEqual([
      ["InferRequest", "021"],
      ["ensemble", "021"],
      ["step", "021"],
    ]);
  });

  it("are of Triton's service, and have the attributes that were given", async () => {
    const first = (await exported(TRACE)).body?.resourceSpans[0]?.resource;
    expect(first && attributesOf(first)).toMatchObject({ "service.name": "triton-inference-server" });
    const given = await exported(TRACE, [
      ["resource", "service.name=mine"],
      ["resource", "team=a=b"],
      ["bsp_max_queue_size", "64"],
      ["bsp_max_export_batch_size", "2"],
    ]);
    const resource = given.body?.resourceSpans[0]?.resource;
    expect(resource && attributesOf(resource)).toMatchObject({ "service.name": "mine", team: "a=b" });
    expect(given.body?.resourceSpans[0]?.scopeSpans[0]?.spans).toHaveLength(2);
    expect(given.spans).toHaveLength(5);
  });
});

describe("a collector that does not answer", () => {
  it("is told to the log", async () => {
    const log: string[] = [];
    const config = {
      ...DEFAULT_TRACE_CONFIG,
      mode: "opentelemetry",
      openTelemetry: [["url", "http://127.0.0.1:9/v1/traces"]],
    } as const;
    const consumer = createSpanExport(config, { log: (level, text) => log.push(`${level}: ${text}`) });
    await consumer.take({ kind: "trace", trace: TRACE });
    await consumer.close();
    expect(log).toEqual(["warning: the last spans were not exported within 5 s"]);
  });
});
