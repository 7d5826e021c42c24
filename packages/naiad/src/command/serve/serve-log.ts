import type { WriteStream } from "node:fs";
import { createWriteStream } from "node:fs";
import type { LogLevel } from "@naiad/protocol";
import { formatLogLine } from "@naiad/runtime/platform";
import type { LogOptions } from "./options/serve-options.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly epochMs: number;
}

/** The log of the command: its own lines, and those of the server in the browser. */
export interface ServeLog {
  /** A line of the command's own, unless the options leave its level out. */
  log(level: LogLevel, message: string): void;
  /** A line of the server, which has left out what is to be left out. */
  pass(line: LogLine): void;
  /** Text as it is, of one line or many. */
  print(text: string): void;
  close(): Promise<void>;
}

export interface ServeLogOptions {
  readonly options: LogOptions;
  /** Where lines go without a file. */
  readonly write: (line: string) => void;
  readonly epochMs: () => number;
}

/** Rejects where the log file cannot be opened. */
export async function openServeLog({ epochMs, options, write }: ServeLogOptions): Promise<ServeLog> {
  const file = options.file === undefined ? undefined : await openAppending(options.file, "log-file");
  const put = file === undefined ? write : (line: string) => void file.write(`${line}\n`);
  const pass = (line: LogLine): void => {
    put(formatLogLine(line, options.format));
  };
  return {
    log(level, message) {
      if (isWanted(level, options)) pass({ level, message, epochMs: epochMs() });
    },
    pass,
    print: put,
    close: () => (file === undefined ? Promise.resolve() : ended(file)),
  };
}

function isWanted(level: LogLevel, options: LogOptions): boolean {
  return level === "verbose" ? options.verbose > 0 : options[level];
}

/** Rejects, with the name of the option, where the file cannot be written. */
export function openAppending(path: string, option: string): Promise<WriteStream> {
  const stream = createWriteStream(path, { flags: "a" });
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void => {
      reject(new Error(`--${option}: ${cause.message}`, { cause }));
    };
    stream.once("error", failed);
    stream.once("open", () => {
      stream.off("error", failed);
      // A full disk is no reason to stop serving.
      stream.on("error", () => undefined);
      resolve(stream);
    });
  });
}

export function ended(stream: WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.end(resolve);
    stream.once("close", resolve);
  });
}
