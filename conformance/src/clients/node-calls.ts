import { naiadServe } from "./naiad-serve.ts";
import { runPythonCalls } from "./python-calls.ts";
import type { Tally } from "./tally.ts";

export interface NodeCalls {
  readonly root: string;
  /** Directory of the models. */
  readonly models: string;
  readonly python: string;
  readonly script: string;
  readonly tally: Tally;
}

/** The same calls of the same client against a server without a browser. */
export async function runNodeCalls({ models, python, root, script, tally }: NodeCalls): Promise<void> {
  const served = await naiadServe(root, [
    ...["--runtime=node", "--model-repository", models, "--model-control-mode=explicit", "--load-model=*"],
  ]);
  try {
    await runPythonCalls({
      python,
      script,
      args: [served.http, served.grpc, served.metrics, models],
      tally: {
        ...tally,
        note: (note) => {
          tally.note({ ...note, release: `${note.release ?? ""} on Node.js`.trim() });
        },
      },
    });
  } finally {
    await tally.check("naiad serve", "drains and ends on Node.js", async () => {
      await served.service.stop();
      const { exitCode } = served.service.process;
      if (exitCode !== 0) throw new Error(`exit code ${String(exitCode)}`);
      return undefined;
    });
  }
}
