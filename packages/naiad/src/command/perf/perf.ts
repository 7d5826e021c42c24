import { writeFile } from "node:fs/promises";
import type { PerfLevel, PerfReport } from "../../perf/perf-report.ts";
import { profileExport } from "../../perf/profile-export.ts";
import { reportCsv } from "../../perf/report-csv.ts";
import { levelLines, numberText, settingsLines, summaryLines } from "../../perf/report-text.ts";
import { runMeasurement } from "../../perf/run-measurement.ts";
import { type CommandIo, type ExitCode } from "../command-io.ts";
import { createGrpcTarget } from "./grpc-target.ts";
import { createHttpTarget } from "./http-target.ts";
import { createNodeClock } from "./node-clock.ts";
import { PERF_HELP } from "./perf-flags.ts";
import type { PerfCommand } from "./perf-options.ts";
import { readPerfOptions } from "./perf-options.ts";

export { PERF_SUMMARY } from "./perf-flags.ts";

/** The `perf` command. A SIGINT ends it without a report. */
export async function perf(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const command = await readPerfOptions(argv);
  if (command === "help") {
    io.out(PERF_HELP);
    return 0;
  }
  const stopping = new AbortController();
  const onSignal = (): void => {
    stopping.abort(new Error("stopped"));
  };
  process.once("SIGINT", onSignal);
  try {
    const report = await measured(command, io, stopping.signal);
    if (command.csvFile !== undefined) {
      await writeFile(command.csvFile, reportCsv(report, { verbose: command.verboseCsv }));
    }
    if (command.profileFile !== undefined) {
      await writeFile(command.profileFile, `${JSON.stringify(profileExport(report))}\n`);
    }
    return report.levels.some(({ outcome }) => outcome === "unstable") ? 1 : 0;
  } finally {
    process.off("SIGINT", onSignal);
  }
}

async function measured(command: PerfCommand, io: CommandIo, signal: AbortSignal): Promise<PerfReport> {
  const { measurement, tensorFormats, url, headers } = command;
  const target =
    command.transport === "grpc"
      ? createGrpcTarget({ url, headers, streaming: command.streaming })
      : createHttpTarget({ url, headers, ...tensorFormats });
  const say = (lines: readonly string[]): void => {
    if (!command.json) for (const line of lines) io.out(line);
  };
  const { load, rule } = measurement;
  const ofReport = {
    load: load.kind,
    transport: target.name,
    ...(rule.percentile !== undefined && { percentile: rule.percentile }),
  };
  const onLevel = (level: PerfLevel): void => {
    say([...levelLines(level, ofReport), ""]);
  };
  try {
    say([...settingsLines(measurement), ""]);
    const report = await runMeasurement({
      ...measurement,
      target,
      clock: createNodeClock(),
      onWindow: (value, { inferencesPerSecond, latencyNs }) => {
        if (!command.verbose) return;
        say([
          `  ${numberText(value)}: ${numberText(inferencesPerSecond)} infer/sec, latency ${Math.round(latencyNs / 1e3)} usec`,
        ]);
      },
      onLevel,
      signal,
    });
    say(summaryLines(report));
    if (command.json) {
      // The times of single requests have a file of their own.
      const levels = report.levels.map((level) => ({ ...level, moments: undefined }));
      io.out(JSON.stringify({ ...report, levels }, undefined, 2));
    }
    return report;
  } finally {
    target.close();
  }
}
