import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
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
