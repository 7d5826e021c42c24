/** What a command needs of the process. Each text is a whole line, without its end. */
export interface CommandIo {
  readonly out: (line: string) => void;
  readonly error: (line: string) => void;
}

/** 0: done; 1: the command could not do it, or found what it checked for; 2: the command line is wrong. */
export type ExitCode = 0 | 1 | 2;

/** A wrong command line: told with a pointer to the help, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
