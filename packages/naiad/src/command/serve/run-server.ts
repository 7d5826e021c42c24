import { realpath } from "node:fs/promises";
import type { PackageDirectories } from "../../site/package-directories.ts";
import { ownDirectories } from "../../site/package-directories.ts";
import type { CommandIo, ExitCode } from "../command-io.ts";
import { LONGEST_TIMER_MS } from "../longest-timer.ts";
import { requireRepository } from "../require-repository.ts";
import { openBrowser } from "./browser/open-browser.ts";
import type { HostService } from "./host-service.ts";
import { createHostService } from "./host-service.ts";
import { accessLogLine } from "./listen/access-log.ts";
import type { HostSource } from "./listen/host-source.ts";
import type { Listener, ServedRequest } from "./listen/listener.ts";
import { openListener } from "./listen/listener.ts";
import { modelTable } from "./model-table.ts";
import { openNode } from "./node/open-node.ts";
import { startMachineWatch } from "./machine-metrics/start-machine-watch.ts";
import type { OpenRuntime } from "./open-runtime.ts";
import type { RuntimeKind, ServeOptions } from "./options/serve-options.ts";
import { PartStack } from "./part-stack.ts";
import type { ServeLog } from "./serve-log.ts";
import { createTracePassage } from "./trace/pass-traces.ts";
import { openTraceConsumer } from "./trace/trace-consumer.ts";
import { ended, openAppending, openServeLog } from "./serve-log.ts";

export interface ServerRun {
  readonly io: CommandIo;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Fires when the server is to end after what it accepted. */
  readonly stop: AbortSignal;
  /** Fires when it is to end now. */
  readonly force: AbortSignal;
  /** Default: those of the installed packages. */
  readonly directories?: PackageDirectories;
}

const SERVICES: Readonly<Record<Listener["protocol"], string>> = {
  http: "HTTPService",
  grpc: "GRPCInferenceService",
  metrics: "Metrics Service",
};

const RUNTIMES: Readonly<Record<RuntimeKind, OpenRuntime>> = { browser: openBrowser, node: openNode };

/** Serves until it is told to end. Throws where it cannot start. */
export async function runServer(options: ServeOptions, run: ServerRun): Promise<ExitCode> {
  const directories = await Promise.all(options.repositories.map(repositoryDirectory));
  // As in Triton, what is given twice is served once.
  const repositories = [...new Set(directories)];
  const parts = new PartStack();
  try {
    const log = await openServeLog({ options: options.log, write: run.io.error, epochMs: Date.now });
    parts.add(() => log.close());
    for (const warning of options.warnings) log.log("warning", warning);
    return await serve({ options, run, log, parts, repositories });
  } finally {
    await parts.close();
  }
}

interface Serving {
  readonly options: ServeOptions;
  readonly run: ServerRun;
  readonly log: ServeLog;
  readonly parts: PartStack;
  readonly repositories: readonly string[];
}

async function serve(serving: Serving): Promise<ExitCode> {
  const { log, options, parts, repositories, run } = serving;
  let current: HostSource = () => ({ kind: "absent", reason: "the server is starting" });
  const source: HostSource = () => current();
  const { environment, directories = ownDirectories() } = run;
  const open = RUNTIMES[options.runtime];
  const runtime = await open({ options, environment, directories, repositories, log, source, parts });
  const accessLog = await openAccessLog(options.accessLog, run.io, parts);
  const listeners: Listener[] = [];
  const now = AbortSignal.abort();
  parts.add(async () => {
    await Promise.all(listeners.map((listener) => listener.close(now)));
  });
  // Ports before models: a port that is taken must not be found out about after minutes.
  for (const one of options.listeners) listeners.push(await openListener(one, source, accessLog));

  const traces = await openTraceConsumer(options.trace, log);
  parts.add(() => traces.close());
  const passage = createTracePassage(traces, log);
  const service = createHostService({
    runtime,
    log,
    passTraces: (notes) => passage.pass(notes),
    hangMs: options.hangSecs * 1000,
  });
  current = () => service.source();
  parts.add(() => service.close());
  if (options.machine !== undefined)
    startMachineWatch({ options: options.machine, environment, service, parts });
  const host = await orStopped(service.start(), run.stop);
  if (host === undefined) return 0;
  log.print(modelTable(await host.index()));
  for (const { at, protocol } of listeners) log.log("info", `Started ${SERVICES[protocol]} at ${at}`);

  await fired(run.stop);
  return drain({ ...serving, service, listeners });
}

interface Draining extends Serving {
  readonly service: HostService;
  readonly listeners: readonly Listener[];
}

async function drain({ listeners, log, options, run, service }: Draining): Promise<ExitCode> {
  log.log("info", "Waiting for in-flight requests to complete.");
  // Not AbortSignal.any of a timeout, which Node 20 may collect before it fires.
  const expiry = new AbortController();
  const deadline = expiry.signal;
  const expire = (): void => {
    expiry.abort();
  };
  const timer = setTimeout(expire, Math.min(options.exitTimeoutSecs * 1000, LONGEST_TIMER_MS));
  if (run.force.aborted) expire();
  else run.force.addEventListener("abort", expire, { once: true });
  const drained = (async () => {
    await service.drain();
    await Promise.all(listeners.map((listener) => listener.close(deadline)));
    return "drained" as const;
  })();
  const outcome = await orStopped(drained, deadline);
  clearTimeout(timer);
  run.force.removeEventListener("abort", expire);
  if (outcome === "drained" && !deadline.aborted) return 0;
  const why = run.force.aborted ? "Told to end once more." : "Exit timeout expired.";
  log.log("error", `${why} Exiting immediately.`);
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

async function repositoryDirectory(directory: string): Promise<string> {
  try {
    await requireRepository(directory);
    return await realpath(directory);
  } catch (error) {
    // Triton's text begins so.
    throw new Error(`failed to stat model repository: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
  const file = await openAppending(target, "http-access-log");
  parts.add(() => ended(file));
  return (served) => void file.write(`${accessLogLine(served)}\n`);
}
