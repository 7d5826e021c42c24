import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TunnelHandler, TunnelLine } from "@naiad/link/tunnel";
import { createTunnelAnswerer } from "@naiad/link/tunnel";
import { InferenceError } from "@naiad/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { resolveSettings } from "../../sdk/start-settings.ts";
import { createBrowserRuntime } from "./browser/browser-runtime.ts";
import type { Browser } from "./browser/launch-browser.ts";
import type { HostService } from "./host-service.ts";
import { createHostService } from "./host-service.ts";
import type { PageReport, PageStart } from "./page/page-start.ts";
import type { LogLine, ServeLog } from "./serve-log.ts";
import type { BrowserSite } from "./site/browser-site.ts";
import { openBrowserSite } from "./site/browser-site.ts";

const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 50);
  });

let folder: string;
const ends: (() => Promise<void>)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-service-"));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await rm(folder, { recursive: true });
});

function lineOf(socket: WebSocket): TunnelLine {
  return {
    send: (message) => {
      if (socket.readyState === socket.OPEN) socket.send(message);
    },
    close: () => {
      socket.close();
    },
    listen: (message, closed) => {
      socket.on("message", (data) => {
        message(data as Buffer);
      });
      socket.on("close", () => {
        closed("closed");
      });
    },
  };
}

const answer = (value: unknown) => ({
  status: 200,
  headers: [],
  body: new TextEncoder().encode(JSON.stringify(value)),
});

type Behaviour = "serves" | "fails to load" | "never connects" | "says it is lost";

/** Plays browser and page over real HTTP and a real WebSocket; only the process is made up. */
class ScriptedBrowser implements Browser {
  readonly exited: Promise<string>;
  #exit: (reason: string) => void = () => undefined;
  #socket: WebSocket | undefined;

  constructor() {
    this.exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  async run(url: string, hostId: string, behaviour: Behaviour): Promise<void> {
    if (behaviour === "never connects") return;
    const start = (await (await fetch(`${url}start.json`)).json()) as PageStart;
    await this.#report(url, { kind: "started", hostId });
    if (behaviour === "says it is lost") {
      await this.#report(url, { kind: "lost", reason: "the host worker died" });
      return;
    }
    const socket = new WebSocket(start.tunnelUrl);
    this.#socket = socket;
    const control: TunnelHandler = ({ rawTarget, signal }) => {
      switch (rawTarget) {
        case "/ready":
          return behaviour === "fails to load"
            ? Promise.reject(new InferenceError("INTERNAL", "failed to load all models: m"))
            : Promise.resolve(answer({}));
        case "/index":
          return Promise.resolve(answer([{ name: hostId, successorOf: start.successorOf ?? null }]));
        case "/log":
          return Promise.resolve({
            status: 200,
            headers: [],
            body: (async function* () {
              const line: LogLine = { level: "info", message: `hello of ${hostId}`, epochMs: 0 };
              yield new TextEncoder().encode(`${JSON.stringify(line)}\n`);
              await new Promise((resolve) => {
                signal.addEventListener("abort", resolve);
              });
            })(),
          });
        default:
          return Promise.resolve(answer({}));
      }
    };
    const waits: TunnelHandler = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reject(InferenceError.from(signal.reason));
        });
      });
    createTunnelAnswerer({
      line: lineOf(socket),
      defer: queueMicrotask,
      peer: "command",
      handlers: new Map([
        ["control", control],
        ["http", waits],
      ]),
    });
  }

  /** A thread that is stuck reads no messages. */
  hang(): void {
    this.#socket?.pause();
  }

  crash(reason: string): void {
    this.#socket?.terminate();
    this.#exit(reason);
  }

  kill(): void {
    this.crash("the browser ended by signal SIGKILL");
  }

  close(): Promise<void> {
    this.crash("closed");
    return Promise.resolve();
  }

  async #report(url: string, report: PageReport): Promise<void> {
    await fetch(`${url}report`, { method: "POST", body: JSON.stringify(report) });
  }
}

interface Setting {
  readonly first?: Behaviour;
  readonly hangMs?: number;
  readonly connectMs?: number;
}

async function serviceOf({ first = "serves", hangMs = 5000, connectMs = 5000 }: Setting = {}) {
  const lines: string[] = [];
  const log: ServeLog = {
    log: (level, message) => lines.push(`${level}: ${message}`),
    pass: ({ level, message }) => lines.push(`${level}: ${message}`),
    print: (text) => lines.push(text),
    close: () => Promise.resolve(),
  };
  const site: BrowserSite = await openBrowserSite({
    repositories: [folder],
    distDirectory: folder,
    ortDirectory: folder,
    source: () => service.source(),
    onWarning: () => undefined,
  });
  ends.push(() => site.close());
  const browsers: ScriptedBrowser[] = [];
  const runtime = createBrowserRuntime({
    site,
    profile: {
      open: (url) => {
        const browser = new ScriptedBrowser();
        browsers.push(browser);
        const behaviour = browsers.length === 1 ? first : "serves";
        browser.run(url, `host-${String(browsers.length)}`, behaviour).catch(() => undefined);
        return Promise.resolve(browser);
      },
    },
    pageStart: ({ successorOf, tunnelUrl }) => ({
      settings: resolveSettings({ modelRepository: site.repositoryUrls }, site.url),
      tunnelUrl,
      filesUrl: "",
      cors: { allowOrigins: [] },
      ...(successorOf !== undefined && { successorOf }),
    }),
  });
  const service: HostService = createHostService({ runtime, log, hangMs, connectMs });
  ends.push(() => service.close());
  return { service, site, browsers, lines };
}

describe("the host service, with a browser", () => {
  it("starts when the models are loaded, and passes the log on", async () => {
    const { lines, service } = await serviceOf();
    expect(service.source()).toEqual({ kind: "absent", reason: "the browser is starting" });
    const host = await service.start();
    expect(await host.index()).toEqual([{ name: "host-1", successorOf: null }]);
    expect(service.source().kind).toBe("serving");
    await expect.poll(() => lines).toEqual(["info: hello of host-1"]);
  });

  it("starts no other browser after one that has drained", async () => {
    const { browsers, lines, service } = await serviceOf();
    await service.start();
    await service.drain();
    expect(service.source().kind).toBe("serving");
    browsers[0]?.crash("gone");
    await expect.poll(() => service.source()).toEqual({ kind: "absent", reason: "gone" });
    await settle();
    expect(browsers.length).toBe(1);
    expect(lines.join()).not.toContain("anew");
  });

  it.each([
    ["fails to load", "failed to load all models: m"],
    ["never connects", "the browser has not connected within 0.5 s"],
    ["says it is lost", "the host worker died"],
  ] as const)("does not start where the first one %s", async (behaviour, reason) => {
    const { browsers, service } = await serviceOf({ first: behaviour, connectMs: 500 });
    await expect(service.start()).rejects.toThrow(reason);
    expect(browsers.length).toBe(1);
  });

  it("starts a browser that died anew, as its successor, and fails what was in flight with the reason", async () => {
    const { browsers, lines, service } = await serviceOf();
    await service.start();
    const state = service.source();
    if (state.kind !== "serving") throw new Error("not serving");
    const inFlight = state.tunnel.exchange({
      protocol: "http",
      method: "GET",
      rawTarget: "/",
      headers: [],
      body: (async function* () {
        yield await Promise.resolve(new Uint8Array(1));
      })(),
      signal: new AbortController().signal,
    });
    const failed = expect(inFlight).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("the browser ended: out of memory") as string,
    });
    await settle();
    browsers[0]?.crash("the browser ended: out of memory");
    await failed;
    await expect
      .poll(() => service.source())
      .toMatchObject({
        kind: "absent",
        reason: "the browser ended: out of memory; the browser is being started anew",
      });
    await expect.poll(() => service.source().kind, { timeout: 5000 }).toBe("serving");
    expect(lines).toContain("error: the browser ended: out of memory; the browser is started anew in 0.5 s");
    await expect.poll(() => lines).toContain("info: hello of host-2");
    expect(browsers.length).toBe(2);
  });

  it("ends a browser that hangs, and starts another", async () => {
    const { browsers, lines, service } = await serviceOf({ hangMs: 400 });
    await service.start();
    browsers[0]?.hang();
    await expect
      .poll(() => lines)
      .toContain("error: the browser has not answered for 0.4 s; the browser is started anew in 0.5 s");
    await expect.poll(() => service.source().kind, { timeout: 5000 }).toBe("serving");
    expect(browsers.length).toBe(2);
  });

  it("may hang for longer than any timer waits", async () => {
    const { browsers, service } = await serviceOf({ hangMs: 1e12 });
    await service.start();
    await settle();
    expect(service.source().kind).toBe("serving");
    expect(browsers.length).toBe(1);
    await service.close();
  });

  it("ends while a browser is being started anew", async () => {
    const { browsers, service } = await serviceOf();
    await service.start();
    browsers[0]?.crash("gone");
    await expect.poll(() => service.source().kind).toBe("absent");
    await service.close();
    await settle();
    expect(browsers.length).toBe(1);
  });
});

describe("the private site", () => {
  it("is closed to whoever does not know its address", async () => {
    const { site, service } = await serviceOf();
    await service.start();
    const { origin } = new URL(site.url);
    for (const path of ["/", "/start.json", "/models/0/index.json", "/tunnel"]) {
      expect((await fetch(`${origin}${path}`)).status).toBe(404);
    }
    expect((await fetch(site.url)).headers.get("cross-origin-embedder-policy")).toBe("require-corp");
    expect(await (await fetch(`${site.repositoryUrls[0] ?? ""}index.json`)).json()).toMatchObject({
      models: [],
    });
    expect((await fetch(`${site.url}nothing`)).status).toBe(404);
    expect((await fetch(site.url, { method: "DELETE" })).status).toBe(405);
    await expect(fetch(`${site.url}report`, { method: "POST", body: "{" })).resolves.toMatchObject({
      status: 204,
    });
  });

  it("lets one connection in for each token", async () => {
    const { site } = await serviceOf();
    const arrived: unknown[] = [];
    const { tunnelUrl } = site.admit({
      start: () => {
        throw new Error("not asked for");
      },
      onReport: () => undefined,
      onTunnel: (socket) => arrived.push(socket),
    });
    const connect = (url: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.on("open", () => {
          resolve("open");
        });
        socket.on("error", ({ message }) => {
          resolve(message);
        });
      });
    expect(await connect(tunnelUrl.replace(/token=.*/, "token=guess"))).toContain("403");
    expect(await connect(tunnelUrl)).toBe("open");
    expect(await connect(tunnelUrl)).toContain("403");
    expect(arrived.length).toBe(1);
  });
});
