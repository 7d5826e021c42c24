import { setTimeout as sleep } from "node:timers/promises";
import type { TunnelAsker } from "@naiad/link/tunnel";
import type { TraceNote } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { LONGEST_TIMER_MS } from "../longest-timer.ts";
import type { HostQuestions } from "./host-questions.ts";
import { askHost } from "./host-questions.ts";
import type { HostRun, HostRuntime } from "./host-runtime.ts";
import type { HostSource, HostState } from "./listen/host-source.ts";
import { afterFailure, NO_FAILURES } from "./restart-policy.ts";
import type { ServeLog } from "./serve-log.ts";

/** The host of the server, which is started anew whenever what it runs in ends or hangs. */
export interface HostService {
  readonly source: HostSource;
  /** How many times a host was started anew. */
  readonly restarts: number;
  /**
   * Resolves when the models of the start are loaded. Rejects with the reason where the first host does not get so far; what
   * happens to later ones is only logged.
   */
  start(): Promise<HostQuestions>;
  /** Resolves when the host has ended after what it accepted. From now on none is started anew. */
  drain(): Promise<void>;
  /** Ends the host and whatever still waits for it. */
  close(): Promise<void>;
}

export interface HostServiceOptions {
  readonly runtime: HostRuntime;
  readonly log: ServeLog;
  /** Takes what a host tells of its traces, until it has told its last. Never rejects. Absent: nobody asks for them. */
  readonly passTraces?: (notes: AsyncIterable<TraceNote>) => Promise<void>;
  readonly hangMs: number;
  /** How long a host may take until it serves. */
  readonly connectMs?: number;
}

const CONNECT_MS = 60_000;
const PING_EVERY_MS = 5000;
/** Lines of the log that are written when a start fails arrive beside the failure. */
const LAST_LINES_MS = 200;

export function createHostService(options: HostServiceOptions): HostService {
  const { hangMs, log, passTraces, runtime, connectMs = CONNECT_MS } = options;
  const { name } = runtime;
  const closing = new AbortController();
  let state: HostState = { kind: "absent", reason: `${name} is starting` };
  let running: Promise<void> | undefined;
  let run: HostRun | undefined;
  let lastHostId: string | undefined;
  let isDraining = false;
  let tracesPassed: Promise<void> = Promise.resolve();
  let restarts = 0;

  const isOver = (): boolean => isDraining || closing.signal.aborted;

  /** One host from its start to its end. Resolves with the reason of the end; never rejects. */
  async function live(onReady: (host: HostQuestions) => void): Promise<string> {
    const current = runtime.launch({
      successorOf: lastHostId,
      onStarted: (hostId) => {
        lastHostId = hostId;
      },
    });
    run = current;
    let tell: (reason: string) => void = () => undefined;
    const lost = new Promise<string>((resolve) => {
      tell = resolve;
    });
    void current.lost.then(tell);
    const over = new AbortController();
    void limit(connectMs, over.signal, () => {
      if (state.kind === "absent") tell(`${name} has not connected within ${String(connectMs / 1000)} s`);
    });
    const tunnel = await Promise.race([current.connected, lost]);
    if (typeof tunnel !== "string") {
      state = { kind: "serving", tunnel };
      const host = askHost(tunnel);
      void passLog(host, log);
      if (passTraces !== undefined) tracesPassed = passTraces(host.traces());
      void tunnel.closed.then(({ message }) => {
        tell(message);
      });
      void watchForHang(tunnel, hangMs, over.signal, () => {
        tell(`${name} has not answered for ${String(hangMs / 1000)} s`);
      });
      host.ready().then(
        () => {
          onReady(host);
        },
        (error: unknown) => {
          void sleep(LAST_LINES_MS).then(() => {
            tell(InferenceError.from(error).message);
          });
        },
      );
    }
    const reason = await lost;
    state = { kind: "absent", reason };
    over.abort();
    if (typeof tunnel !== "string") tunnel.close(new InferenceError("UNAVAILABLE", reason));
    await current.end(closing.signal.aborted ? "asked" : "at once");
    return reason;
  }

  async function keepAlive(
    onReady: (host: HostQuestions) => void,
    onFailed: (reason: string) => void,
  ): Promise<void> {
    let count = NO_FAILURES;
    const life = { wasReady: false };
    for (;;) {
      const begun = performance.now();
      const reason = await live((host) => {
        if (life.wasReady) log.log("info", `${name} was started anew, and serves again`);
        life.wasReady = true;
        onReady(host);
      });
      if (isOver()) return;
      if (!life.wasReady) {
        onFailed(reason);
        return;
      }
      const { delayMs, failures } = afterFailure(count, performance.now() - begun);
      count = { failures };
      log.log("error", `${reason}; ${name} is started anew in ${String(delayMs / 1000)} s`);
      state = { kind: "absent", reason: `${reason}; ${name} is being started anew` };
      await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (isOver()) return;
      restarts += 1;
    }
  }

  return {
    source: () => state,
    get restarts() {
      return restarts;
    },
    start: () =>
      new Promise((resolve, reject) => {
        running = keepAlive(resolve, (reason) => {
          reject(new Error(reason));
        });
      }),
    async drain() {
      isDraining = true;
      if (state.kind !== "serving") return;
      // A tunnel that is lost meanwhile has nothing left to wait for.
      await askHost(state.tunnel)
        .stop()
        .catch(() => undefined);
      await tracesPassed;
    },
    async close() {
      closing.abort();
      if (state.kind === "serving") state.tunnel.close(new InferenceError("UNAVAILABLE", "Server exiting"));
      await run?.end("asked");
      await running;
    },
  };
}

async function passLog(host: HostQuestions, log: ServeLog): Promise<void> {
  try {
    for await (const line of host.log()) log.pass(line);
  } catch {
    // The tunnel is gone, of which others tell.
  }
}

/** Asks again and again whether the host's thread still turns. */
async function watchForHang(
  tunnel: TunnelAsker,
  hangMs: number,
  signal: AbortSignal,
  tell: () => void,
): Promise<void> {
  try {
    for (;;) {
      const answered = new AbortController();
      void limit(hangMs, AbortSignal.any([signal, answered.signal]), tell);
      await tunnel.ping();
      answered.abort();
      await sleep(Math.min(PING_EVERY_MS, hangMs), undefined, { signal });
    }
  } catch {
    // It is over.
  }
}

/** Runs `late` after a time, unless `signal` fires before. */
async function limit(ms: number, signal: AbortSignal, late: () => void): Promise<void> {
  try {
    await sleep(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal });
  } catch {
    return;
  }
  late();
}
