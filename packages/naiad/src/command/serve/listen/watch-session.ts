import type { ServerHttp2Session } from "node:http2";
import { LONGEST_TIMER_MS } from "../../longest-timer.ts";

/** How connections of gRPC are kept; what tritonserver's `--grpc-keepalive-*` and `--grpc-max-connection-*` say. */
export interface SessionLimits {
  /** A client that has sent nothing for so long is pinged. */
  readonly pingAfterMs: number;
  /** One that does not answer that in time has gone. */
  readonly pingTimeoutMs: number;
  /** Which connections are pinged: those with a call, or idle ones too. */
  readonly pinged: "in use" | "all";
  /** After which the client is told to make a new connection; `undefined`: never. */
  readonly maxAgeMs: number | undefined;
  /** For the calls of such a connection; `undefined`: as long as they take. */
  readonly maxAgeGraceMs: number | undefined;
}

/** Ends connections as the limits say, until they have ended in whatever way. */
export function watchSession(session: ServerHttp2Session, limits: SessionLimits): void {
  const { maxAgeGraceMs, maxAgeMs, pingAfterMs, pingTimeoutMs, pinged } = limits;
  const timers = new Set<NodeJS.Timeout>();
  let calls = 0;
  let read = 0;
  session.on("stream", (stream) => {
    calls += 1;
    stream.once("close", () => {
      calls -= 1;
    });
  });
  session.once("close", () => {
    for (const timer of timers) clearTimeout(timer);
  });
  const after = (ms: number | undefined, act: () => void): (() => void) => {
    if (ms === undefined || ms > LONGEST_TIMER_MS) return () => undefined;
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!session.destroyed) act();
    }, ms);
    // An open connection keeps the process running, and so does nothing else.
    timer.unref();
    timers.add(timer);
    return () => {
      timers.delete(timer);
      clearTimeout(timer);
    };
  };
  const look = (): void => {
    const { bytesRead } = session.socket;
    if (bytesRead === read && (pinged === "all" || calls > 0)) ping();
    read = bytesRead;
    after(pingAfterMs, look);
  };
  const ping = (): void => {
    const answered = after(pingTimeoutMs, () => {
      session.destroy();
    });
    session.ping(answered);
  };
  after(pingAfterMs, look);
  after(maxAgeMs, () => {
    session.close();
    after(maxAgeGraceMs, () => {
      session.destroy();
    });
  });
}
