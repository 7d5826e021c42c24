import { basename } from "node:path";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

/** One line of the scripts' output. */
interface Call {
  readonly client: string;
  readonly release: string;
  readonly name: string;
  readonly program: string | null;
  readonly problem: string | null;
  readonly ms: number;
}

export interface PythonCalls {
  readonly python: string;
  readonly script: string;
  readonly args: readonly string[];
  /** For its standard input. */
  readonly input?: string;
  readonly tally: Tally;
}

/** Runs a script that drives the server and reports each call. */
export async function runPythonCalls({ args, input, python, script, tally }: PythonCalls): Promise<void> {
  await tally.check("Python", `${basename(script)} ends well`, async () => {
    await runProgram(python, [script, ...args], {
      timeoutMs: 180_000,
      ...(input !== undefined && { input }),
      onLine: (line) => {
        const call = readCall(line);
        if (call === undefined) return;
        const { problem, program, ...rest } = call;
        tally.note({ ...rest, program: program ?? undefined, problem: problem ?? undefined });
      },
    });
    return undefined;
  });
}

/** Libraries write to standard output too. */
function readCall(line: string): Call | undefined {
  if (!line.startsWith('{"client"')) return undefined;
  // Our own script writes these lines.
  return JSON.parse(line) as Call;
}
