import { setTimeout as sleep } from "node:timers/promises";
import { diag, DiagLogLevel } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { OpenTelemetrySetting, TraceConfig } from "@naiad/protocol";
import type { ServeLog } from "../serve-log.ts";
import { createProblemTeller } from "./export-problems.ts";
import type { TraceConsumer } from "./trace-consumer.ts";
import { recordSpans } from "./trace-spans.ts";

/** How long the last spans may take to leave. */
const LAST_SPANS_MS = 5000;
/** A stream has as many events as responses. */
const MAX_EVENTS = 100_000;

/** Exports traces as spans over OTLP/HTTP, by OpenTelemetry's own libraries with the settings that Triton has for them. */
export function createSpanExport({ openTelemetry }: TraceConfig, log: Pick<ServeLog, "log">): TraceConsumer {
  const setting = (name: OpenTelemetrySetting): string | undefined =>
    openTelemetry.find(([key]) => key === name)?.[1];
  const number = (name: OpenTelemetrySetting): number | undefined => {
    const value = setting(name);
    return value === undefined ? undefined : Number(value);
  };
  tellProblems(log);
  const url = setting("url");
  const exporter = new OTLPTraceExporter(url === undefined ? {} : { url });
  const maxQueueSize = number("bsp_max_queue_size") ?? 2048;
  const processor = new BatchSpanProcessor(exporter, {
    maxQueueSize,
    scheduledDelayMillis: number("bsp_schedule_delay") ?? 5000,
    maxExportBatchSize: Math.min(number("bsp_max_export_batch_size") ?? 512, maxQueueSize),
  });
  const attributes = openTelemetry.flatMap(([name, value]): readonly (readonly [string, string])[] => {
    const equals = value.indexOf("=");
    return name === "resource" ? [[value.slice(0, equals), value.slice(equals + 1)]] : [];
  });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "triton-inference-server" }))
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes(Object.fromEntries(attributes))),
    sampler: new AlwaysOnSampler(),
    spanLimits: { eventCountLimit: MAX_EVENTS },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("triton-server");
  return {
    take: (note) => {
      if (note.kind === "trace") recordSpans(tracer, note.trace);
      return Promise.resolve();
    },
    async close() {
      const over = new AbortController();
      const late = sleep(LAST_SPANS_MS, "late", { signal: over.signal }).catch(() => undefined);
      const shutdown = provider.shutdown().catch((thrown: unknown) => {
        log.log("warning", `the last spans were not exported: ${String(thrown)}`);
      });
      if ((await Promise.race([shutdown, late])) === "late") {
        log.log("warning", `the last spans were not exported within ${String(LAST_SPANS_MS / 1000)} s`);
      }
      over.abort();
    },
  };
}

/** The libraries have one place for what they have to say. */
function tellProblems(log: Pick<ServeLog, "log">): void {
  const tell = createProblemTeller(log);
  const nothing = (): void => undefined;
  diag.setLogger(
    { error: tell, warn: tell, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
