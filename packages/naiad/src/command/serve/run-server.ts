import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { resolveSettings } from "../../sdk/start-options.ts";
import type { StartSettings } from "../../sdk/start-options.ts";
import { ownDirectories } from "../../site/package-directories.ts";
import { type CommandIo, type ExitCode, UsageError } from "../command-io.ts";
import { browserArguments } from "./browser/browser-arguments.ts";
import { findBrowser } from "./browser/find-browser.ts";
import { hasGpu } from "./browser/has-gpu.ts";
import type { BrowserProfile } from "./browser/launch-browser.ts";
import { createBrowserProfile } from "./browser/launch-browser.ts";
import type { BrowserService } from "./browser-service.ts";
import { createBrowserService } from "./browser-service.ts";
import { accessLogLine } from "./listen/access-log.ts";
import type { HostSource } from "./listen/host-source.ts";
import type { Listener, ServedRequest } from "./listen/listener.ts";
import { openListener } from "./listen/listener.ts";
import { modelTable } from "./model-table.ts";
import type { ServeOptions } from "./options/serve-options.ts";
import type { PageStart } from "./page/page-start.ts";
import type { ServeLog } from "./serve-log.ts";
import { ended, openAppending, openServeLog } from "./serve-log.ts";
import type { BrowserSite } from "./site/browser-site.ts";
import { openBrowserSite } from "./site/browser-site.ts";

export interface ServerRun {
  readonly io: CommandIo;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Fires when the server is to end after what it accepted. */
  readonly stop: AbortSignal;
  /** Fires when it is to end now. */
  readonly force: AbortSignal;
}

const SERVICES: Readonly<Record<Listener["protocol"], string>> = {
  http: "HTTPService",
  grpc: "GRPCInferenceService",
  metrics: "Metrics Service",
};

/** Serves until it is told to end. Throws where it cannot start. */
export async function runServer(options: ServeOptions, run: ServerRun): Promise<ExitCode> {
  const repositories = await Promise.all(options.repositories.map(repositoryDirectory));
  const path = options.browser.path ?? findBrowser(run.environment);
  if (path === undefined) {
    throw new Error(
      "no Chrome or Chromium found: install one, or name it with --browser or in NAIAD_BROWSER",
    );
  }
  requireSandbox(options);
  const parts = new PartStack();
  try {
    const log = await openServeLog({ options: options.log, write: run.io.error, epochMs: Date.now });
    parts.add(() => log.close());
    for (const warning of options.warnings) log.log("warning", warning);
    const profile = await createBrowserProfile({
      path,
      arguments: browserArguments(options.browser, {
        platform: process.platform,
        hasGpu: hasGpu(process.platform),
      }),
      onOutput: (line) => {
        log.log("verbose", `browser: ${line}`);
      },
    });
    parts.add(() => profile.remove());
    return await serve({ options, run, log, profile, parts, repositories });
  } finally {
    await parts.close();
  }
}

interface Serving {
  readonly options: ServeOptions;
  readonly run: ServerRun;
  readonly log: ServeLog;
  readonly profile: BrowserProfile;
  readonly parts: PartStack;
  readonly repositories: readonly string[];
}

async function serve(serving: Serving): Promise<ExitCode> {
  const { log, options, parts, profile, repositories, run } = serving;
  // Ports before models: a port that is taken must not be found out about after minutes.
  let current: HostSource = () => ({ kind: "absent", reason: "the browser is starting" });
  const source: HostSource = () => current();
  const { dist, ort } = ownDirectories();
  const site = await openBrowserSite({
    repositories,
    distDirectory: dist,
    ortDirectory: ort,
    source,
    onWarning: (message) => {
      log.log("warning", message);
    },
  });
  parts.add(() => site.close());
  const settings = hostSettings(options, site);
  const accessLog = await openAccessLog(options.accessLog, run.io, parts);
  const listeners: Listener[] = [];
  const now = AbortSignal.abort();
  parts.add(async () => {
    await Promise.all(listeners.map((listener) => listener.close(now)));
  });
  for (const one of options.listeners) listeners.push(await openListener(one, source, accessLog));

  const service = createBrowserService({
    site,
    profile,
    log,
    hangMs: options.browser.hangSecs * 1000,
    pageStart: ({ successorOf, tunnelUrl }): PageStart => ({
      settings:
        successorOf === undefined
          ? settings
          : // One model that does not load any more is no reason to end a server that serves others.
            { ...settings, server: { ...settings.server, exitOnError: false } },
      tunnelUrl,
      filesUrl: `${site.url}v2-files/`,
      ...(successorOf !== undefined && { successorOf }),
      ...(options.cors !== undefined && { cors: options.cors }),
    }),
  });
  current = () => service.source();
  parts.add(() => service.close());
  const host = await orStopped(service.start(), run.stop);
  if (host === undefined) return 0;
  if (options.trace !== undefined) await host.setTrace(options.trace);
  log.print(modelTable(await host.index()));
  for (const { at, protocol } of listeners) log.log("info", `Started ${SERVICES[protocol]} at ${at}`);

  await fired(run.stop);
  return drain({ ...serving, service, listeners });
}

interface Draining extends Serving {
  readonly service: BrowserService;
  readonly listeners: readonly Listener[];
}

async function drain({ listeners, log, options, run, service }: Draining): Promise<ExitCode> {
  log.log("info", "Waiting for in-flight requests to complete.");
  const deadline = AbortSignal.any([AbortSignal.timeout(options.exitTimeoutSecs * 1000), run.force]);
  const drained = (async () => {
    await service.drain();
    await Promise.all(listeners.map((listener) => listener.close(deadline)));
    return "drained" as const;
  })();
  const outcome = await orStopped(drained, deadline);
  if (outcome === "drained" && !deadline.aborted) return 0;
  log.log("error", "Exit timeout expired. Exiting immediately.");
  return 1;
}

/** The value, or `undefined` where `signal` fires first; what comes later is dropped. */
async function orStopped<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  promise.catch(() => undefined);
  return Promise.race([promise, fired(signal)]);
}

function fired(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else
      signal.addEventListener(
        "abort",
        () => {
          resolve(undefined);
        },
        { once: true },
      );
  });
}

function hostSettings(options: ServeOptions, site: BrowserSite): StartSettings {
  try {
    return resolveSettings(
      {
        ...options.server,
        modelRepository: site.repositoryUrls,
        base: new URL(site.url).pathname,
        mode: "direct",
        serviceWorker: false,
      },
      site.url,
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.replace(/^startServer's option /, "option "), { cause: error });
  }
}

async function repositoryDirectory(directory: string): Promise<string> {
  const stats = await stat(directory).catch(() => undefined);
  // Triton's text begins so.
  if (stats === undefined) throw new Error(`failed to stat model repository: no directory '${directory}'`);
  if (!stats.isDirectory())
    throw new Error(`failed to stat model repository: '${directory}' is not a directory`);
  const isModel = (await stat(join(directory, "config.pbtxt")).catch(() => undefined)) !== undefined;
  if (isModel) {
    throw new Error(`'${directory}' is a model (it has a config.pbtxt); give the directory that contains it`);
  }
  return realpath(directory);
}

function requireSandbox({ browser }: ServeOptions): void {
  if (browser.sandbox === "off" || process.platform !== "linux" || process.getuid?.() !== 0) return;
  throw new Error(
    "the browser's sandbox does not start as root: run naiad as another user, or, where every model of the repository " +
      "is trusted, pass --no-sandbox",
  );
}

async function openAccessLog(
  target: string | undefined,
  io: CommandIo,
  parts: PartStack,
): Promise<(served: ServedRequest) => void> {
  if (target === undefined) return () => undefined;
  if (target === "-") {
    return (served) => {
      io.out(accessLogLine(served));
    };
  }
  const file = await openAppending(target);
  parts.add(() => ended(file));
  return (served) => void file.write(`${accessLogLine(served)}\n`);
}

/** Whatever has to be closed, the last one first; each is, whatever becomes of the others. */
class PartStack {
  readonly #closes: (() => Promise<void>)[] = [];

  add(close: () => Promise<void>): void {
    this.#closes.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closes.splice(0).reverse()) await close().catch(() => undefined);
  }
}
