import type { ArrivingRequest, TunnelHandler } from "@naiad/link/tunnel";
import { createTunnelAnswerer, createTunnelAsker } from "@naiad/link/tunnel";
import type { ExchangeResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { pairedLines } from "@naiad/testing";
import { onTestFinished } from "vitest";
import type { HostState } from "../src/command/serve/listen/host-source.ts";
import type { Listener, ServedRequest } from "../src/command/serve/listen/listener.ts";
import { openListener } from "../src/command/serve/listen/listener.ts";
import type { SessionLimits } from "../src/command/serve/listen/watch-session.ts";

/** So long that no test meets it. */
const NEVER_MS = 60_000;

const SESSIONS: SessionLimits = {
  pingAfterMs: NEVER_MS,
  pingTimeoutMs: NEVER_MS,
  pinged: "in use",
  maxAgeMs: undefined,
  maxAgeGraceMs: undefined,
};

interface ServedPort {
  readonly listener: Listener;
  /** What was served so far, as the access log is told. */
  readonly served: readonly ServedRequest[];
  readonly breakTunnel: () => void;
  readonly goAbsent: (reason: string) => void;
}

/** A real port before a host that is played by `handler`, open until the test is over. */
export async function servePort(
  handler: TunnelHandler,
  protocol: "http" | "grpc" = "http",
  sessions: Partial<SessionLimits> = {},
): Promise<ServedPort> {
  const { left, right } = pairedLines();
  const tunnel = createTunnelAsker({ line: left, defer: setImmediate, peer: "the browser" });
  createTunnelAnswerer({
    line: right,
    defer: queueMicrotask,
    handlers: new Map([[protocol, handler]]),
    peer: "the command",
  });
  let state: HostState = { kind: "serving", tunnel };
  const served: ServedRequest[] = [];
  const at = { address: "127.0.0.1", port: 0, tls: undefined };
  const listener = await openListener(
    protocol === "http" ? { protocol, ...at } : { protocol, ...at, sessions: { ...SESSIONS, ...sessions } },
    () => state,
    (one) => served.push(one),
  );
  onTestFinished(() => listener.close(AbortSignal.abort()));
  return {
    listener,
    served,
    breakTunnel: () => {
      left.break("it crashed");
    },
    goAbsent: (reason: string) => {
      state = { kind: "absent", reason };
    },
  };
}

/** Everything that comes until the end. */
export async function collectBytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

export const okText = (text: string): ExchangeResponse => ({
  status: 200,
  headers: [["content-type", "text/plain"]],
  body: new TextEncoder().encode(text),
});

export const untilAborted = ({ signal }: ArrivingRequest): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => {
      reject(InferenceError.from(signal.reason));
    });
  });
