import { access, constants, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { PerfReport } from "../../perf/perf-report.ts";
import { profileExport } from "../../perf/profile-export.ts";
import { composingCsvs, reportCsv } from "../../perf/report-csv.ts";
import { UsageError } from "../command-io.ts";

export interface ReportFiles {
  readonly csvFile: string | undefined;
  readonly verboseCsv: boolean;
  readonly profileFile: string | undefined;
}

/** Told before anything is measured. Throws a `UsageError`. */
export async function requireWritable({ csvFile, profileFile }: ReportFiles): Promise<void> {
  const files = [
    ["latency-report-file", csvFile],
    ["profile-export-file", profileFile],
  ] as const;
  for (const [option, path] of files) {
    if (path === undefined) continue;
    try {
      await access(dirname(path), constants.W_OK);
    } catch (error) {
      throw new UsageError(`--${option} '${path}': ${String(error)}`, { cause: error });
    }
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory() === true) throw new UsageError(`--${option} '${path}' is a directory`);
  }
}

export async function writeReportFiles(report: PerfReport, files: ReportFiles): Promise<void> {
  const { csvFile, profileFile, verboseCsv } = files;
  if (csvFile !== undefined) {
    await writeFile(csvFile, reportCsv(report, { verbose: verboseCsv }));
    for (const { name, text, version } of composingCsvs(report)) {
      await writeFile(join(dirname(csvFile), `${name}_v${version}.${basename(csvFile)}`), text);
    }
  }
  if (profileFile !== undefined) await writeFile(profileFile, `${profileExport(report)}\n`);
}
