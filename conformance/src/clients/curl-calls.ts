import { readFile } from "node:fs/promises";
import type { Served } from "./naiad-serve.ts";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

/** What the answers to some commands must hold. */
const EXPECTED: readonly (readonly [command: RegExp, part: string])[] = [
  [/\/health\/ready/, "200 OK"],
  [/\/models\/\w+\/ready/, "200 OK"],
  [/\/infer/, '"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1,3],"data":[1.0,2.5,-3.0]}]'],
  [/\/stats/, '"inference_count":'],
  [/\/metrics/, "nv_inference_request_success"],
];

/** Runs the commands with `curl` that a page of the documentation shows, in their order. */
export async function runCurlCommands(
  page: string,
  { grpc, http, metrics }: Served,
  tally: Tally,
): Promise<void> {
  const commands = curlCommands(await readFile(page, "utf8"));
  const name = page.split("/").slice(-2).join("/");
  await tally.check("curl", `${name} shows commands`, () => {
    if (commands.length === 0) throw new Error("it shows none");
    return Promise.resolve(undefined);
  });
  for (const command of commands) {
    const real = command
      .replaceAll("localhost:8000", http)
      .replaceAll("localhost:8001", grpc)
      .replaceAll("localhost:8002", metrics);
    await tally.check("curl", oneLine(command), async () => {
      const { stdout } = await runProgram("sh", ["-c", `${real} -sS --fail-with-body`]);
      const part = EXPECTED.find(([pattern]) => pattern.test(command))?.[1];
      if (part !== undefined && !stdout.includes(part)) throw new Error(`'${part}' is not in\n${stdout}`);
      return undefined;
    });
  }
}

/** Of blocks of `sh`; a command goes on as long as a quotation is open. */
function curlCommands(markdown: string): readonly string[] {
  const commands: string[] = [];
  for (const [, block = ""] of markdown.matchAll(/```sh\n(.*?)```/gs)) {
    let open: string | undefined;
    for (const line of block.split("\n")) {
      const command: string | undefined = open === undefined ? line : `${open}\n${line}`;
      const isOpen = (command.match(/'/g) ?? []).length % 2 === 1;
      open = isOpen ? command : undefined;
      if (!isOpen && command.startsWith("curl ")) commands.push(command);
    }
  }
  return commands;
}

function oneLine(command: string): string {
  return command.replace(/\s+/g, " ");
}
