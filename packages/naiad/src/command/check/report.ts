import { join } from "node:path";
import type { RepositoryFinding } from "@naiad/core";

export interface CheckReport {
  /** As it was given. */
  readonly directory: string;
  readonly models: number;
  readonly findings: readonly RepositoryFinding[];
}

export function errorCount({ findings }: CheckReport): number {
  return findings.filter(({ severity }) => severity === "error").length;
}

/** `file:line:column: error: text` as compilers have it, what to do below it, and a line that sums up. */
export function reportLines(report: CheckReport): readonly string[] {
  const { directory, findings, models } = report;
  const lines = findings.flatMap(({ severity, hint, message, ...place }) => [
    `${placeText(directory, place)}: ${severity}: ${message}`,
    ...(hint === undefined ? [] : [`    suggestion: ${hint}`]),
  ]);
  const errors = errorCount(report);
  const counts = `${count(errors, "error")}, ${count(findings.length - errors, "warning")}`;
  return [...lines, `${count(models, "model")} checked: ${counts}`];
}

/** What `--json` prints. Absent values are left out. */
export function reportJson(report: CheckReport): string {
  const { directory, findings, models } = report;
  const errors = errorCount(report);
  return JSON.stringify(
    {
      directory,
      models,
      errors,
      warnings: findings.length - errors,
      findings: findings.map(({ severity, modelName, file, position, message, hint }) => ({
        severity,
        model: modelName,
        file: file === undefined ? undefined : join(directory, modelName, file),
        ...(file !== undefined && { line: position?.line ?? 1, column: position?.column ?? 1 }),
        message,
        suggestion: hint,
      })),
    },
    undefined,
    2,
  );
}

function placeText(
  directory: string,
  { modelName, file, position }: Pick<RepositoryFinding, "modelName" | "file" | "position">,
): string {
  if (file === undefined) return join(directory, modelName);
  // What a configuration does not say is missing at its start.
  const { line, column } = position ?? { line: 1, column: 1 };
  return `${join(directory, modelName, file)}:${line}:${column}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
