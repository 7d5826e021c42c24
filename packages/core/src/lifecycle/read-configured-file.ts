import { joinedPath } from "@naiad/model-config";
import type { Datatype } from "@naiad/protocol";
import { elementByteSize, InferenceError } from "@naiad/protocol";
import type { ModelFiles } from "../ports.ts";

export interface ConfiguredFile {
  readonly modelName: string;
  /** Relative to the model's directory, as the configuration has it. */
  readonly path: string;
  readonly files: ModelFiles;
}

/**
 * A file that the configuration names: labels, data for the warm-up, initial states. Rejects with Triton's text when it is
 * not there, and with the reason when it would not lie in the model's directory.
 */
export async function readConfiguredFile({ modelName, path, files }: ConfiguredFile): Promise<Uint8Array> {
  const joined = joinedPath(path);
  if (joined !== undefined && files.entries.some((file) => file.path === joined)) return files.read(joined);
  const reason =
    joined === undefined ? "it is outside of the model's directory" : "No such file or directory";
  throw new InferenceError("INTERNAL", `failed to open text file for read ${modelName}/${path}: ${reason}`);
}

/**
 * The first `count` elements of a data file of the configuration; for BYTES all that it holds. `tooShort` gives the text for a
 * file that has fewer.
 */
export async function readConfiguredElements(
  file: ConfiguredFile,
  {
    datatype,
    count,
    tooShort,
  }: {
    readonly datatype: Datatype;
    readonly count: number;
    readonly tooShort: (bytes: { readonly expected: number; readonly found: number }) => string;
  },
): Promise<Uint8Array> {
  const bytes = await readConfiguredFile(file);
  if (datatype === "BYTES") return bytes;
  const expected = count * elementByteSize(datatype);
  if (expected <= bytes.byteLength) return bytes.subarray(0, expected);
  throw new InferenceError("INVALID_ARG", tooShort({ expected, found: bytes.byteLength }));
}
