import type { ModelConfig } from "@naiad/model-config";
import type { ModelFiles } from "../ports.ts";
import { readConfiguredFile } from "./read-configured-file.ts";

/** Labels by output, then by class index. Outputs without a label file are left out. */
export type OutputLabels = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the label files that the configuration names, one label a line. A carriage return at the end of a line is none of
 * the label, other than in Triton. Rejects with Triton's text when a file is not there.
 */
export async function readLabels(config: ModelConfig, files: ModelFiles): Promise<OutputLabels> {
  const labels = new Map<string, readonly string[]>();
  for (const { name, labelFilename: path } of config.output) {
    if (path === "") continue;
    const text = new TextDecoder().decode(await readConfiguredFile({ modelName: config.name, path, files }));
    labels.set(name, linesOf(text));
  }
  return labels;
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  // What a line break ends is no line before another one.
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
