import type { SuiteReport } from "./report.ts";

export interface TimedReport extends SuiteReport {
  readonly suite: string;
  readonly seconds: number;
}

/** A suite whose material the folder lacks. */
export interface MissingSuite {
  readonly suite: string;
  readonly missing: string;
}

const HEAD = ["suite", "passed", "failed", "left out", "seconds"] as const;

/** The one table of the whole run, and under it whatever a number cannot say. */
export function reportTable(reports: readonly (TimedReport | MissingSuite)[]): string {
  const rows = reports.map((report): readonly string[] =>
    "missing" in report
      ? [report.suite, "-", "-", "-", `not there: ${report.missing}`]
      : [
          report.suite,
          String(report.passed),
          String(report.failures.length),
          String(report.leftOut.reduce((sum, { names }) => sum + names.length, 0)),
          report.seconds.toFixed(1),
        ],
  );
  const widths = HEAD.map((head, column) =>
    Math.max(...[head, ...rows.map((row) => row[column] ?? "")].map(({ length }) => length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(HEAD), rule, ...rows.map(line), ...reports.flatMap(details)].join("\n");
}

function details(report: TimedReport | MissingSuite): readonly string[] {
  if ("missing" in report) return [];
  const { suite, failures, leftOut, remarks } = report;
  const lines = [
    ...remarks,
    ...leftOut.map(({ reason, names, listing }) =>
      listing === "names"
        ? `left out, ${reason} (${names.length}): ${names.join(", ")}`
        : `left out, ${reason}: ${names.length}`,
    ),
    ...failures.map(({ name, reason }) => `FAILED ${name}: ${reason.slice(0, 600)}`),
  ];
  return lines.length === 0 ? [] : ["", suite, ...lines.map((text) => `  ${text}`)];
}
