import type { LogLevel } from "@naiad/core";
import type { LogLine } from "./log-book.ts";

/** Verbose lines have the letter of the others, as in Triton. */
const LETTERS: Readonly<Record<LogLevel, string>> = { verbose: "I", info: "I", warning: "W", error: "E" };

/**
 * The line as Triton writes it in the format that its option `log-format` names, in UTC: `default` is
 * `I0910 12:34:56.123456 naiad] "text"`, `ISO8601` is `2026-09-10T12:34:56Z I naiad] "text"`. Where Triton has process, file
 * and line there is the name. The text is quoted, so that one line is one message whatever stands in it.
 */
export function formatLogLine({ level, message, epochMs }: LogLine, format: string): string {
  const letter = LETTERS[level];
  const quoted = JSON.stringify(message);
  const [date = "", time = ""] = new Date(epochMs).toISOString().split("T");
  if (format === "ISO8601") return `${date}T${time.slice(0, 8)}Z ${letter} naiad] ${quoted}`;
  const micros = String(Math.floor((epochMs % 1000) * 1000)).padStart(6, "0");
  return `${letter}${date.slice(5).replace("-", "")} ${time.slice(0, 8)}.${micros} naiad] ${quoted}`;
}
