import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { joinInputData, parseInputData } from "../../perf/input-data.ts";
import type { PerfInputData } from "../../perf/input-data.ts";
import { UsageError } from "../command-io.ts";
import { asUsage } from "../server-options.ts";

/** What `--input-data` names, as it can be sent to a page. */
export type InputSource =
  | { readonly kind: "zero" }
  | { readonly kind: "random" }
  | Extract<PerfInputData, { readonly kind: "files" }>
  /** Of JSON files, in their order. */
  | { readonly kind: "texts"; readonly texts: readonly string[] };

/** `options`: those that were given, with `zero` or `random` alone, one directory, or JSON files. Throws a `UsageError`. */
export async function readInputSource(options: readonly string[]): Promise<InputSource> {
  const [first = "random"] = options;
  if (first === "zero" || first === "random") {
    if (options.length > 1) throw new UsageError(`--input-data ${first} can be given alone only`);
    return { kind: first };
  }
  const stats = await Promise.all(options.map((path) => stat(path).catch(cannotRead(path))));
  if (stats.some((one) => one.isDirectory())) {
    if (options.length > 1) throw new UsageError("--input-data: a directory can be given alone only");
    return { kind: "files", files: await filesIn(first) };
  }
  const texts = await Promise.all(options.map((path) => readFile(path, "utf8").catch(cannotRead(path))));
  texts.forEach((text, index) =>
    asUsage(() => parseInputData(text), `--input-data '${options[index] ?? ""}'`),
  );
  return { kind: "texts", texts };
}

/** Throws INVALID_ARG for texts of another form. */
export function inputDataOf(source: InputSource): PerfInputData {
  return source.kind === "texts" ? joinInputData(source.texts.map(parseInputData)) : source;
}

async function filesIn(directory: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  if (names.length === 0) throw new UsageError(`--input-data: there is no file in '${basename(directory)}'`);
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, (await readFile(join(directory, name))).toString("base64")] as const),
    ),
  );
}

function cannotRead(path: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`--input-data '${path}': ${String(error)}`, { cause: error });
  };
}
