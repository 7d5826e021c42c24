import { setTimeout as sleep } from "node:timers/promises";
import type { TunnelAsker } from "@naiad/link/tunnel";
import { createTunnelAsker } from "@naiad/link/tunnel";
import { InferenceError } from "@naiad/protocol";
import type { Browser, BrowserProfile } from "./browser/launch-browser.ts";
import type { HostQuestions } from "./host-questions.ts";
import { askHost } from "./host-questions.ts";
import type { HostSource, HostState } from "./listen/host-source.ts";
import type { PageStart } from "./page/page-start.ts";
import { afterFailure, NO_FAILURES } from "./restart-policy.ts";
import type { ServeLog } from "./serve-log.ts";
import type { BrowserSite } from "./site/browser-site.ts";
import { socketLine } from "./site/socket-line.ts";

/** The browser with the server in it, which is started anew whenever it ends or hangs. */
export interface BrowserService {
  readonly source: HostSource;
  /**
   * Resolves when the models of the start are loaded. Rejects with the reason where the first browser does not get so far; what
   * happens to later ones is only logged.
   */
  start(): Promise<HostQuestions>;
  /** Resolves when the host has ended after what it accepted. From now on no browser is started anew. */
  drain(): Promise<void>;
  /** Ends the browser and whatever still waits for it. */
  close(): Promise<void>;
}

export interface BrowserServiceOptions {
  readonly site: Pick<BrowserSite, "admit" | "url">;
  readonly profile: Pick<BrowserProfile, "open">;
  readonly log: ServeLog;
  /** What a page is to start. `life` tells the first from those that come after one that was lost. */
  readonly pageStart: (life: PageLife) => PageStart;
  readonly hangMs: number;
  /** How long a browser may take until its host connects. */
  readonly connectMs?: number;
}

export interface PageLife {
  readonly tunnelUrl: string;
  /** The last host, whose models are to be loaded again; absent for the first. */
  readonly successorOf: string | undefined;
}

const CONNECT_MS = 60_000;
const PING_EVERY_MS = 5000;
/** A closed connection and the exit of the process come in any order; the exit says more. */
const REASON_MS = 500;
/** Lines of the log that are written when a start fails arrive beside the failure. */
const LAST_LINES_MS = 200;

export function createBrowserService(options: BrowserServiceOptions): BrowserService {
  const { hangMs, log, pageStart, profile, site, connectMs = CONNECT_MS } = options;
  const closing = new AbortController();
  let state: HostState = { kind: "absent", reason: "the browser is starting" };
  let running: Promise<void> | undefined;
  let browser: Browser | undefined;
  let lastHostId: string | undefined;
  let isDraining = false;

  const isOver = (): boolean => isDraining || closing.signal.aborted;

  /** One browser from its start to its end. Resolves with the reason of the end; never rejects. */
  async function live(onReady: (host: HostQuestions) => void): Promise<string> {
    let tell: (reason: string) => void = () => undefined;
    const lost = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const over = new AbortController();
    const connected = new Promise<TunnelAsker>((resolve) => {
      const { tunnelUrl } = site.admit({
        start: () => pageStart({ tunnelUrl, successorOf: lastHostId }),
        onReport: (report) => {
          if (report.kind === "started") lastHostId = report.hostId;
          else tell(report.reason);
        },
        onTunnel: (socket) => {
          const line = socketLine(socket, (code) =>
            Promise.race([lost, sleep(REASON_MS, `the connection was closed (${String(code)})`)]),
          );
          resolve(createTunnelAsker({ line, defer: (run) => setImmediate(run), peer: "the browser" }));
        },
      });
    });
    try {
      browser = await profile.open(site.url);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    void browser.exited.then(tell);
    void limit(connectMs, over.signal, () => {
      if (state.kind === "absent") tell(`the browser has not connected within ${String(connectMs / 1000)} s`);
    });
    const tunnel = await Promise.race([connected, lost]);
    if (typeof tunnel !== "string") {
      state = { kind: "serving", tunnel };
      const host = askHost(tunnel);
      void passLog(host, log);
      void tunnel.closed.then(({ message }) => {
        tell(message);
      });
      void watchForHang(tunnel, hangMs, over.signal, tell);
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
    await end(browser);
    return reason;
  }

  async function end(ending: Browser): Promise<void> {
    if (closing.signal.aborted) {
      await ending.close();
      return;
    }
    ending.kill();
    await ending.exited;
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
      log.log("error", `${reason}; the browser is started anew in ${String(delayMs / 1000)} s`);
      state = { kind: "absent", reason: `${reason}; the browser is being started anew` };
      await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (isOver()) return;
    }
  }

  return {
    source: () => state,
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
    },
    async close() {
      closing.abort();
      if (state.kind === "serving") state.tunnel.close(new InferenceError("UNAVAILABLE", "Server exiting"));
      await browser?.close();
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
  tell: (reason: string) => void,
): Promise<void> {
  try {
    for (;;) {
      const answered = new AbortController();
      void limit(hangMs, AbortSignal.any([signal, answered.signal]), () => {
        tell(`the browser has not answered for ${String(hangMs / 1000)} s`);
      });
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
    await sleep(ms, undefined, { signal });
  } catch {
    return;
  }
  late();
}
