import { basename } from "node:path";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

/** One line of the scripts' output. */
interface Call {
  readonly client: string;
  readonly name: string;
  readonly problem: string | null;
  readonly ms: number;
}

export interface PythonCalls {
  readonly python: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly tally: Tally;
}

/** Runs a script that drives the server and reports each call. */
export async function runPythonCalls({ args, python, script, tally }: PythonCalls): Promise<void> {
  await tally.check("Python", `${basename(script)} ends well`, async () => {
    await runProgram(python, [script, ...args], {
      timeoutMs: 180_000,
      // Bytecode beside the sources would be in the way of nobody but the repository.
      env: { PYTHONDONTWRITEBYTECODE: "1" },
      onLine: (line) => {
        const call = readCall(line);
        if (call !== undefined) tally.note(call.client, call.name, call.problem ?? undefined, call.ms);
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
