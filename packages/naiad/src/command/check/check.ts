import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { checkRepository } from "@naiad/core";
import type { Digest } from "@naiad/core";
import { scanRepository } from "../../repository-manifest.ts";
import { type CommandIo, type ExitCode, UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { requireRepository } from "../require-repository.ts";
import { createDiskFiles } from "./disk-files.ts";
import { INSPECTORS } from "./inspectors.ts";
import { errorCount, reportJson, reportLines } from "./report.ts";

export const CHECK_SUMMARY: string = "Tell every problem of every configuration in a model repository";

const HELP = `${CHECK_SUMMARY}.

Usage: naiad check [options] DIRECTORY

Reads configurations, directories, label and data files, and the signatures of ONNX files, and holds them against each
other: what Triton finds out one by one, at load, is told at once, with file, line and column, and what to write instead
where that is known. No model is run and nothing is written.

Options:
      --json                          Print one JSON object
      --disable-auto-complete-config  Take configurations only as they are written, as the option of 'serve' does
  -h, --help                          Show this help

Exit code: 0 when every model could be served, 1 when there is an error, 2 for a wrong command line.`;

/** The `check` command. */
export async function check(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { positionals, values } = parseCommandLine(argv, {
    json: { type: "boolean" },
    "disable-auto-complete-config": { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) {
    io.out(HELP);
    return 0;
  }
  const [directory, extra] = positionals;
  if (directory === undefined) throw new UsageError("the directory of a model repository is missing");
  if (extra !== undefined) throw new UsageError(`one directory at a time, and there is also '${extra}'`);
  await requireRepository(directory);
  const manifest = await scanRepository(directory, {
    describe: sizeAlone,
    onWarning: (message) => {
      io.error(`naiad check: ${message}`);
    },
  });
  const findings = await checkRepository(
    { manifest, filesOf: (model) => createDiskFiles(directory, model) },
    {
      inspectors: INSPECTORS,
      digest: nodeDigest,
      autoComplete: values["disable-auto-complete-config"] !== true,
      signal: new AbortController().signal,
    },
  );
  const report = { directory, models: manifest.models.length, findings };
  if (values.json === true) io.out(reportJson(report));
  else for (const line of reportLines(report)) io.out(line);
  return errorCount(report) > 0 ? 1 : 0;
}

/** Weights are not read. */
async function sizeAlone(
  path: string,
): Promise<{ readonly size: number; readonly sha256: string; readonly chunks: readonly string[] }> {
  return { size: (await stat(path)).size, sha256: "", chunks: [] };
}

const nodeDigest: Digest = {
  sha256: (bytes) => Promise.resolve(createHash("sha256").update(bytes).digest("hex")),
};
