import type { Logger, LogLevel } from "@naiad/core";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
}

/** A logger that keeps what it is told. */
export interface CollectingLogger extends Logger {
  readonly lines: readonly LogLine[];
}

export function createCollectingLogger(): CollectingLogger {
  const lines: LogLine[] = [];
  return { lines, log: (level, message) => void lines.push({ level, message }) };
}
