import type { LogControl, Logger, LogLevel } from "@naiad/core";
import { formatLogLine } from "./format-log-line.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly epochMs: number;
}

/** A logger that remembers its last lines and tells whoever listens. */
export interface LogBook extends Logger {
  /** Calls `listener` for the lines that are kept, oldest first, and then for every line as it comes. Returns the end of it. */
  subscribe(listener: (line: LogLine) => void): () => void;
}

/** `text` is the line in the format of the log settings. */
export type LogSink = (line: LogLine, text: string) => void;

export interface LogBookOptions {
  readonly epochMs: () => number;
  /** Where lines go besides the book, for example the console. */
  readonly sink: LogSink;
  /** What it does not accept is dropped. Asked for every line, since the settings change while the server runs. */
  readonly control: Pick<LogControl, "accepts" | "settings">;
  readonly capacity?: number;
}

export function createLogBook(options: LogBookOptions): LogBook {
  const capacity = options.capacity ?? 500;
  const lines: LogLine[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  return {
    log(level, message) {
      if (!options.control.accepts(level)) return;
      const line: LogLine = { level, message, epochMs: options.epochMs() };
      lines.push(line);
      if (lines.length > capacity) lines.shift();
      options.sink(line, formatLogLine(line, options.control.settings.log_format));
      for (const listener of listeners) listener(line);
    },
    subscribe(listener) {
      for (const line of [...lines]) listener(line);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/* eslint-disable no-console -- the developer console is where the lines of a server in a browser go */
/** Writes lines to the developer console, each under its own level. */
export function consoleSink({ level }: LogLine, text: string): void {
  switch (level) {
    case "verbose":
      console.debug(text);
      return;
    case "info":
      console.info(text);
      return;
    case "warning":
      console.warn(text);
      return;
    case "error":
      console.error(text);
      return;
  }
}
/* eslint-enable no-console */
