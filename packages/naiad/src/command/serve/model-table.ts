import type { RepositoryIndexEntry } from "@naiad/protocol";

const HEAD = ["Model", "Version", "Status"] as const;

type Row = readonly [model: string, version: string, status: string];

/** The table of models that tritonserver shows when it has started. */
export function modelTable(index: readonly RepositoryIndexEntry[]): string {
  const rows: readonly Row[] = index.flatMap(({ name, reason = "", state, version = "" }) =>
    // Known by its name only: nobody asked for it.
    state === undefined ? [] : [[name, version, statusOf(state, reason)] as const],
  );
  return table(rows);
}

function statusOf(state: string, reason: string): string {
  return state === "READY" || reason === "" ? state : `${state}: ${reason.replaceAll(/\s*\n\s*/g, " ")}`;
}

function table(rows: readonly Row[]): string {
  const widths = HEAD.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const rule = `+${widths.map((width) => "-".repeat(width + 2)).join("+")}+`;
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell, column) => ` ${cell.padEnd(widths[column] ?? 0)} `).join("|")}|`;
  return [rule, line(HEAD), rule, ...rows.map(line), ...(rows.length === 0 ? [] : [rule])].join("\n");
}
