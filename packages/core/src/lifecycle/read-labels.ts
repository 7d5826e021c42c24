import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { ModelFiles } from "../ports.ts";

/** Labels by output, then by class index. Outputs without a label file are left out. */
export type OutputLabels = ReadonlyMap<string, readonly string[]>;

/** Reads the label files that the configuration names, one label a line. INVALID_ARG when one is not there. */
export async function readLabels(config: ModelConfig, files: ModelFiles): Promise<OutputLabels> {
  const labels = new Map<string, readonly string[]>();
  for (const { name, labelFilename } of config.output) {
    if (labelFilename === "") continue;
    if (!files.entries.some(({ path }) => path === labelFilename)) {
      throw new InferenceError(
        "INVALID_ARG",
        `label file '${labelFilename}' for output '${name}' in model '${config.name}' does not exist`,
      );
    }
    const text = new TextDecoder().decode(await files.read(labelFilename));
    labels.set(name, text.replace(/\r?\n$/, "").split(/\r?\n/));
  }
  return labels;
}
