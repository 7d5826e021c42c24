import { UsageError } from "../command-io.ts";
import type { parseCommandLine } from "../parse-command-line.ts";
import type { PERF_OPTIONS } from "./perf-flags.ts";

/** What was given on the command line. */
export type Values = ReturnType<typeof parseCommandLine<typeof PERF_OPTIONS>>["values"];

export function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number, but it is '${text}'`);
}

export function oneOf<Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (text === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${name} must be one of ${choices.join(", ")}, but it is '${text}'`);
}
