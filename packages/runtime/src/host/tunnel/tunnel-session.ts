import type { MachineMetrics } from "@naiad/core";
import type { ArrivingRequest, TunnelAnswerer, TunnelHandler, TunnelLine } from "@naiad/link/tunnel";
import { createTunnelAnswerer } from "@naiad/link/tunnel";
import type { EdgeTracing, ExchangeHandler, ExchangeResponse, JsonValue } from "@naiad/protocol";
import { encodeJson, httpStatusOf, InferenceError } from "@naiad/protocol";
import type { TunnelProtocol } from "../../contracts.ts";
import { eventStream } from "../event-stream.ts";
import { FILES_PATH } from "../served-files.ts";
import type { HostServices } from "../session.ts";
import { readBody } from "./read-body.ts";

export interface TunnelSessionOptions {
  readonly line: TunnelLine;
  readonly services: HostServices;
  /** Resolves when the models of the start are loaded; rejects where the server ended over one. */
  readonly ready: () => Promise<unknown>;
  /** Drains and ends the host. */
  readonly stop: () => Promise<void>;
}

/** Serves the ports of the command that started the browser. */
export function createTunnelSession(options: TunnelSessionOptions): TunnelAnswerer {
  const { line, services } = options;
  const exchange = wholeBody(services.handleExchange, services.tracing);
  const handlers: readonly (readonly [TunnelProtocol, TunnelHandler])[] = [
    ["http", (request) => (isOnlyElsewhere(request) ? notFound() : exchange(request))],
    ["metrics", (request) => metrics(request, exchange)],
    ["files", exchange],
    ["control", (request) => control(request, options)],
    ["grpc", services.handleGrpc],
    [
      "traces",
      ({ signal }) => Promise.resolve({ status: 200, headers: [], body: traceLines(services, signal) }),
    ],
  ];
  return createTunnelAnswerer({
    line,
    handlers: new Map(handlers),
    peer: "the command",
    defer: (flush) => {
      queueMicrotask(flush);
    },
  });
}

function wholeBody(handle: ExchangeHandler, tracing: EdgeTracing): TunnelHandler {
  return async (request) => {
    const { method, rawTarget, headers, signal } = request;
    const receivedNs = tracing.nowNs();
    let body: Uint8Array;
    try {
      body = await readBody(request);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      return errorAnswer(thrown);
    }
    const { chunkCount } = await request.ended;
    return handle({
      method,
      rawTarget,
      headers,
      body,
      ...(chunkCount !== undefined && { chunkCount }),
      ...(receivedNs !== undefined && { receivedNs }),
      signal,
    });
  };
}

/** Metrics have a port of their own, and files of models are for the browser itself. */
function isOnlyElsewhere({ rawTarget }: ArrivingRequest): boolean {
  return /^\/metrics\/?($|\?)/.test(rawTarget) || rawTarget.startsWith(FILES_PATH);
}

function notFound(): Promise<ExchangeResponse> {
  return Promise.resolve(answer(404, { error: "Not Found" }));
}

/** As on Triton's port of metrics: nothing is there but them, and any other path is an empty answer. */
async function metrics(request: ArrivingRequest, exchange: TunnelHandler): Promise<ExchangeResponse> {
  const { method, rawTarget } = request;
  if (method !== "GET") return answer(405, { error: "Method Not Allowed" });
  if (/^\/metrics\/?($|\?)/.test(rawTarget)) return exchange(request);
  return { status: 200, headers: [["content-length", "0"]], body: new Uint8Array(0) };
}

async function control(
  request: ArrivingRequest,
  { services, ready, stop }: TunnelSessionOptions,
): Promise<ExchangeResponse> {
  const { rawTarget, signal } = request;
  switch (rawTarget) {
    case "/ready":
      await ready();
      return answer(200, {});
    case "/stop":
      await stop();
      return answer(200, {});
    case "/index":
      return answer(200, await services.operations.repositoryIndex({ ready: false }, { signal }));
    case "/machine":
      // The command is of the same build, so that what it writes has the shape.
      services.setMachineMetrics(
        JSON.parse(new TextDecoder().decode(await readBody(request))) as MachineMetrics,
      );
      return answer(200, {});
    case "/log":
      return { status: 200, headers: [], body: logLines(services, signal) };
    default:
      throw new InferenceError("NOT_FOUND", `no control '${rawTarget}'`);
  }
}

/** A line of JSON for each line of the log, those from before included. */
async function* logLines(services: HostServices, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const event of eventStream(services.subscribe, signal)) {
    if (event.kind !== "log") continue;
    const { level, message, epochMs } = event;
    yield new TextEncoder().encode(`${JSON.stringify({ level, message, epochMs })}\n`);
  }
}

/** A line of JSON for each note. */
async function* traceLines(services: HostServices, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const note of services.traces(signal)) {
    yield new TextEncoder().encode(`${JSON.stringify(note)}\n`);
  }
}

function errorAnswer(thrown: unknown): ExchangeResponse {
  const { code, message } = InferenceError.from(thrown);
  return answer(httpStatusOf(code), { error: message });
}

/** Messages are plain data, but interfaces lack the index signature that `JsonObject` wants. */
function answer(status: number, value: object): ExchangeResponse {
  const body = encodeJson(value as JsonValue);
  return {
    status,
    headers: [
      ["content-type", "application/json"],
      ["content-length", String(body.length)],
    ],
    body,
  };
}
