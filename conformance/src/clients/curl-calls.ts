import { documentedCommands } from "./documented-commands.ts";
import type { Served } from "./naiad-serve.ts";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

/** What the answers to some commands must hold. */
const EXPECTED: readonly (readonly [command: RegExp, part: string])[] = [
  [/\/health\/ready/, "200 OK"],
  [/\/models\/\w+\/ready/, "200 OK"],
  [/\/models\/\w+\s*$/, '"inputs":[{"name":"INPUT0"'],
  [/\/infer/, '"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1,3],"data":[1.0,2.5,-3.0]}]'],
  [/\/stats/, '"inference_count":'],
  [/\/metrics/, "nv_inference_request_success"],
];

/** A page of the documentation. */
export interface Page {
  readonly name: string;
  readonly markdown: string;
}

/** Runs the commands with `curl` that pages show, in their order. */
export async function runCurlCommands(pages: readonly Page[], served: Served, tally: Tally): Promise<void> {
  const { grpc, http, metrics } = served;
  for (const { markdown, name } of pages) {
    for (const command of documentedCommands(markdown, "curl")) {
      const real = command
        .replaceAll("localhost:8000", http)
        .replaceAll("localhost:8001", grpc)
        .replaceAll("localhost:8002", metrics);
      await tally.check("curl", `${name}: ${command.replace(/\s+/g, " ")}`, async () => {
        const { stdout } = await runProgram("sh", ["-c", `${real} -sS --fail-with-body`]);
        const part = EXPECTED.find(([pattern]) => pattern.test(command))?.[1];
        if (part !== undefined && !stdout.includes(part)) throw new Error(`'${part}' is not in\n${stdout}`);
        return undefined;
      });
    }
  }
}
