import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "./programs.ts";
import { runPythonCalls } from "./python-calls.ts";
import type { Served } from "./naiad-serve.ts";
import type { Tally } from "./tally.ts";

export interface StubCalls {
  readonly root: string;
  readonly scratch: string;
  /** With `grpcio-tools`. */
  readonly python: string;
  readonly scripts: string;
  readonly served: Served;
  readonly tally: Tally;
}

/** Stubs that protoc makes of our `.proto` files: on the wire they are tritonclient's, and the server answers them. */
export async function runStubCalls({
  python,
  root,
  scratch,
  scripts,
  served,
  tally,
}: StubCalls): Promise<void> {
  const folder = join(scratch, "stubs");
  await mkdir(folder);
  const sources = [join(root, "packages/grpc/proto"), join(root, "packages/model-config/proto")];
  await runProgram(python, [
    ...["-m", "grpc_tools.protoc", ...sources.map((source) => `-I${source}`)],
    ...[`--python_out=${folder}`, `--grpc_python_out=${folder}`, "grpc_service.proto", "model_config.proto"],
  ]);
  const script = join(scripts, "stub_calls.py");
  const theirs = await runProgram(python, [script, "theirs"]);
  await runPythonCalls({ python, script, tally, args: ["ours", folder, served.grpc], input: theirs.stdout });
}
