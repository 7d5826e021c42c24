import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseManifest, printManifest, type RepositoryManifest } from "@naiad/core";
import { scanRepository } from "../repository-manifest.ts";
import { type CommandIo, type ExitCode, UsageError } from "./command-io.ts";
import { manifestDifferences } from "./manifest-differences.ts";
import { parseCommandLine } from "./parse-command-line.ts";
import { readIfPresent } from "./read-if-present.ts";
import { requireRepository } from "./require-repository.ts";

export const INDEX_SUMMARY: string =
  "Write index.json, the manifest that a static host needs, for a model repository";

const HELP = `${INDEX_SUMMARY}.

Usage: naiad index [options] DIRECTORY

DIRECTORY is laid out as for Triton: <model>/config.pbtxt, <model>/<version>/model.onnx. The manifest lists its models
and files with their SHA-256. It is written only when something changed. Run this again whenever a file changes, and
upload the manifest last.

Options:
  -o, --output FILE  Where to write the manifest; - is standard output (default: DIRECTORY/index.json)
      --check        Write nothing; exit with 1 and list the differences when the manifest is not up to date
  -q, --quiet        Print errors only
  -h, --help         Show this help`;

/** The `index` command. */
export async function indexRepository(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const options = parseOptions(argv);
  if (options.help) {
    io.out(HELP);
    return 0;
  }
  const { directory } = options;
  await requireRepository(directory);
  const say = options.quiet ? () => undefined : io.out;
  const manifest = await scanRepository(directory, {
    onWarning: (message) => {
      if (!options.quiet) io.error(`naiad index: ${message}`);
    },
  });
  const text = `${printManifest(manifest)}\n`;
  if (options.output === "-" && !options.check) {
    io.out(text.trimEnd());
    return 0;
  }
  const output = options.output ?? join(directory, "index.json");
  const present = await readIfPresent(output);
  if (options.check) return check({ manifest, text, output, present, io, say });
  if (present === text) {
    say(`${output} is up to date: ${describe(manifest)}`);
    return 0;
  }
  await replaceFile(output, text);
  say(`wrote ${output}: ${describe(manifest)}`);
  return 0;
}

interface IndexOptions {
  readonly directory: string;
  readonly output: string | undefined;
  readonly check: boolean;
  readonly quiet: boolean;
  readonly help: boolean;
}

function parseOptions(argv: readonly string[]): IndexOptions {
  const parsed = parseCommandLine(argv, {
    output: { type: "string", short: "o" },
    check: { type: "boolean" },
    quiet: { type: "boolean", short: "q" },
    help: { type: "boolean", short: "h" },
  });
  const { check = false, help = false, output, quiet = false } = parsed.values;
  const [directory, ...extra] = parsed.positionals;
  if (!help && directory === undefined)
    throw new UsageError("the directory of a model repository is missing");
  if (extra[0] !== undefined)
    throw new UsageError(`one directory at a time, and there is also '${extra[0]}'`);
  if (check && output === "-")
    throw new UsageError("--check compares with a file, which '--output -' is not");
  return { directory: directory ?? "", output, check, quiet, help };
}

interface Check {
  readonly manifest: RepositoryManifest;
  readonly text: string;
  readonly output: string;
  readonly present: string | undefined;
  readonly io: CommandIo;
  readonly say: (line: string) => void;
}

function check({ io, manifest, output, present, say, text }: Check): ExitCode {
  if (present === text) {
    say(`${output} is up to date: ${describe(manifest)}`);
    return 0;
  }
  if (present === undefined) {
    io.error(`naiad index: ${output} does not exist`);
    return 1;
  }
  io.error(`naiad index: ${output} is out of date:`);
  for (const line of differencesFrom(present, manifest)) io.error(`  ${line}`);
  return 1;
}

function differencesFrom(present: string, manifest: RepositoryManifest): readonly string[] {
  let old: RepositoryManifest;
  try {
    old = parseManifest(JSON.parse(present));
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const differences = manifestDifferences(old, manifest);
  return differences.length > 0 ? differences : ["it says the same in another form"];
}

function describe({ models }: RepositoryManifest): string {
  const files = models.flatMap((model) => model.files);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return `${count(models.length, "model")}, ${count(files.length, "file")}, ${(bytes / 1e6).toFixed(1)} MB`;
}

function count(n: number, noun: string): string {
  return `${String(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A server that reads at this moment sees the old text or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
