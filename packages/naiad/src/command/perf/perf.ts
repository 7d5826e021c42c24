import type { PerfLevel, PerfReport, PerfReportHead, PerfWindow } from "../../perf/perf-report.ts";
import { measurementPlan } from "../../perf/measure-settings.ts";
import { levelHeader, levelLines, summaryLines, windowLine } from "../../perf/report-text.ts";
import { runMeasurement } from "../../perf/run-measurement.ts";
import { settingsLines } from "../../perf/settings-text.ts";
import { answered } from "../../perf/wait.ts";
import { type CommandIo, type ExitCode } from "../command-io.ts";
import { versionLines } from "../version-lines.ts";
import type { CommandTarget } from "./command-target.ts";
import type { Connection } from "./connection-options.ts";
import { createGrpcTarget } from "./grpc-target.ts";
import { createHttpTarget } from "./http-target.ts";
import { inputDataOf } from "./input-files.ts";
import { metricsSource } from "./metrics-source.ts";
import { createNodeClock } from "./node-clock.ts";
import { measureInPage } from "./page/measure-in-page.ts";
import { PERF_HELP } from "./perf-help.ts";
import type { PerfCommand } from "./perf-options.ts";
import { flagOf, readPerfOptions } from "./perf-options.ts";
import { requireWritable, writeReportFiles } from "./report-files.ts";

export { PERF_SUMMARY } from "./perf-help.ts";

/** The second of them ends the program at once. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The `perf` command. A signal ends it with a report of the levels that were measured. */
export async function perf(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const command = await readPerfOptions(argv);
  switch (command.kind) {
    case "help":
      io.out(PERF_HELP);
      return 0;
    case "version":
      for (const line of versionLines()) io.out(line);
      return 0;
    case "measure":
      return measureAndWrite(command, io);
  }
}

async function measureAndWrite(command: PerfCommand, io: CommandIo): Promise<ExitCode> {
  for (const warning of command.warnings) io.error(`naiad perf: warning: ${warning}`);
  await requireWritable(command);
  const stopping = new AbortController();
  const onSignal = (): void => {
    stopping.abort(new Error("stopped"));
  };
  for (const name of SIGNALS) process.once(name, onSignal);
  try {
    const teller = tellerOf(command, io);
    const report = await measured(command, teller, io, stopping.signal).catch((thrown: unknown) => {
      const soFar = teller.soFar();
      if (!stopping.signal.aborted || soFar === undefined) throw thrown;
      io.error("naiad perf: stopped before the end; this is what was measured until then");
      return soFar;
    });
    teller.report(report);
    await writeReportFiles(report, command);
    const isWhole = !stopping.signal.aborted && report.levels.every(({ outcome }) => outcome !== "unstable");
    return isWhole ? 0 : 1;
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

/** What is printed while it is measured. */
interface Teller {
  settings(lines: readonly string[], head: PerfReportHead): void;
  window(value: number, window: PerfWindow): void;
  level(level: PerfLevel): void;
  report(report: PerfReport): void;
  /** With the levels that were told; `undefined` where there is none. */
  soFar(): PerfReport | undefined;
}

function tellerOf(command: PerfCommand, io: CommandIo): Teller {
  const { settings, verbose, way } = command;
  const { load, rule } = measurementPlan(settings, flagOf);
  const shape = {
    load: load.kind,
    transport: transportName(way),
    ...(rule.percentile !== undefined && { percentile: rule.percentile }),
  };
  const say = (lines: readonly string[]): void => {
    if (!command.json) for (const line of lines) io.out(line);
  };
  const levels: PerfLevel[] = [];
  let reportHead: PerfReportHead | undefined;
  let headed: number | undefined;
  let windows = 0;
  const head = (value: number): void => {
    if (headed === value) return;
    headed = value;
    windows = 0;
    say([levelHeader(value, load.kind)]);
  };
  return {
    settings: (lines, told) => {
      reportHead = told;
      say([...lines, ""]);
    },
    window: (value, window) => {
      if (!verbose) return;
      head(value);
      windows += 1;
      say([windowLine(windows, window, rule.percentile)]);
    },
    level: (level) => {
      levels.push(level);
      head(level.value);
      say([...levelLines(level, shape), ""]);
    },
    report: (report) => {
      say(summaryLines(report));
      if (!command.json) return;
      // The times of single requests have a file of their own.
      const told = report.levels.map((level) => ({ ...level, moments: undefined }));
      io.out(JSON.stringify({ ...report, levels: told }, undefined, 2));
    },
    soFar: () => (reportHead === undefined || levels.length === 0 ? undefined : { ...reportHead, levels }),
  };
}

function transportName(way: PerfCommand["way"]): string {
  switch (way.kind) {
    case "http":
      return "HTTP";
    case "grpc":
      return "gRPC";
    case "page":
      return way.transport;
  }
}

async function measured(
  command: PerfCommand,
  teller: Teller,
  io: CommandIo,
  signal: AbortSignal,
): Promise<PerfReport> {
  const { way } = command;
  if (way.kind === "page") {
    return measureInPage({
      command,
      page: way,
      signal,
      onWarning: (message) => {
        io.error(`naiad perf: warning: ${message}`);
      },
      onEvent: (event) => {
        if (event.kind === "settings") teller.settings(event.lines, event.head);
        else if (event.kind === "window") teller.window(event.value, event.window);
        else if (event.kind === "level") teller.level(event.level);
      },
    });
  }
  const target = targetOf(way);
  try {
    const clock = createNodeClock();
    if (command.trace !== undefined) await answered(target.setTrace(command.trace), { clock, signal });
    const plan = measurementPlan({ ...command.settings, inputData: inputDataOf(command.input) }, flagOf);
    return await runMeasurement({
      ...plan,
      target,
      clock,
      ...(command.metrics !== undefined && { metrics: metricsSource(command.metrics) }),
      onModel: (model, head) => {
        const calls = command.calls === undefined ? {} : { calls: command.calls };
        teller.settings(settingsLines(plan, { model, ...calls }), head);
      },
      onWindow: (value, window) => {
        teller.window(value, window);
      },
      onLevel: (level) => {
        teller.level(level);
      },
      signal,
    });
  } finally {
    target.close();
  }
}

function targetOf({ tensorFormats, ...way }: Connection): CommandTarget {
  return way.kind === "grpc" ? createGrpcTarget(way) : createHttpTarget({ ...way, ...tensorFormats });
}
