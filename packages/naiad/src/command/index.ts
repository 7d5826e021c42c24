import { nearestName } from "@naiad/protocol";
import { CHECK_SUMMARY, check } from "./check/check.ts";
import { type CommandIo, type ExitCode, UsageError } from "./command-io.ts";
import { DIFF_SUMMARY, diff } from "./diff/diff.ts";
import { DOCTOR_SUMMARY, doctor } from "./doctor/doctor.ts";
import { INDEX_SUMMARY, indexRepository } from "./index-repository.ts";
import { INIT_SUMMARY, init } from "./init.ts";
import { PERF_SUMMARY, perf } from "./perf/perf.ts";
import { createStreamIo } from "./stream-io.ts";
import { SERVE_SUMMARY, serve } from "./serve/serve.ts";
import { versionLines } from "./version-lines.ts";

interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  readonly run: (argv: readonly string[], io: CommandIo) => Promise<ExitCode>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  check: { summary: CHECK_SUMMARY, run: check },
  diff: { summary: DIFF_SUMMARY, run: diff },
  doctor: { summary: DOCTOR_SUMMARY, run: doctor },
  index: { summary: INDEX_SUMMARY, run: indexRepository },
  init: { summary: INIT_SUMMARY, run: init },
  perf: { summary: PERF_SUMMARY, run: perf },
  serve: { summary: SERVE_SUMMARY, run: serve },
};

const HELP = `Naiad: Triton model repositories and Triton's /v2 API, served inside a browser tab.

Usage: naiad <command> [options]

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`)
  .join("\n")}

Options:
  -h, --help     Show this help; 'naiad <command> --help' shows that of a command
  -V, --version  Show the version`;

/** Runs the command line (without `node` and the script) and resolves with the exit code. Does not throw. */
export async function main(
  argv: readonly string[],
  io: CommandIo = createStreamIo(process.stdout, process.stderr),
): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === "-h" || name === "--help") {
    io.out(HELP);
    return 0;
  }
  if (name === "-V" || name === "--version") {
    for (const line of versionLines()) io.out(line);
    return 0;
  }
  if (name === undefined) {
    io.error(HELP);
    return 2;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const near = nearestName(name, Object.keys(COMMANDS));
    const hint = near === undefined ? "" : `; did you mean '${near}'?`;
    io.error(
      `naiad: unknown ${name.startsWith("-") ? "option" : "command"} '${name}'${hint}; see 'naiad --help'`,
    );
    return 2;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    const message = messageOf(error);
    if (error instanceof UsageError) {
      io.error(`naiad ${name}: ${message}; see 'naiad ${name} --help'`);
      return 2;
    }
    io.error(`naiad ${name}: ${message}`);
    return 1;
  }
}

/** Node's `fetch` keeps what has happened, such as ECONNREFUSED, to the causes of its error. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!error.message.endsWith("fetch failed")) return error.message;
  const reason = rootOf(error);
  const code = "code" in reason && typeof reason.code === "string" ? reason.code : reason.message;
  return reason === error || code === "" ? error.message : `${error.message}: ${code}`;
}

function rootOf(error: Error): Error {
  return error.cause instanceof Error ? rootOf(error.cause) : error;
}
