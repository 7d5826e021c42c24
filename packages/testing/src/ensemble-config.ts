import type { MemoryModel } from "./memory-repository.ts";

export interface EnsembleText {
  /** `name TYPE [dims]`, separated by `;`; what follows the dims is copied. */
  readonly inputs: string;
  readonly outputs: string;
  /** `model: INPUT0=a, INPUT1=b > OUTPUT0=c`, with a version as `model@2:`. */
  readonly steps: readonly string[];
  readonly maxBatchSize?: number;
  /** Added to `ensemble_scheduling`. */
  readonly scheduling?: string;
  /** Added to the configuration. */
  readonly config?: string;
}

/** The configuration of an ensemble, without its name. */
export function ensembleConfig(text: EnsembleText): string {
  const { inputs, outputs, steps, maxBatchSize = 0, scheduling = "", config = "" } = text;
  return [
    'platform: "ensemble"',
    `max_batch_size: ${String(maxBatchSize)}`,
    ...tensorConfigs("input", inputs),
    ...tensorConfigs("output", outputs),
    `ensemble_scheduling { ${steps.map(stepConfig).join(" ")} ${scheduling} }`,
    config,
  ].join("\n");
}

/** An ensemble with one version, whose directory is empty. */
export function ensembleModel(text: EnsembleText, files: MemoryModel = {}): MemoryModel {
  return { "config.pbtxt": ensembleConfig(text), "1/": "", ...files };
}

/** Inputs or outputs of any model. Tensors as in `EnsembleText`. */
export function tensorConfigs(kind: "input" | "output", text: string): readonly string[] {
  return text
    .split(";")
    .map((part) => /^\s*(\S+) (\S+) (\[.*?\])(.*)$/s.exec(part))
    .flatMap((match) => {
      const [, name = "", type = "", dims = "", more = ""] = match ?? [];
      return match === null
        ? []
        : [`${kind} { name: "${name}" data_type: TYPE_${type} dims: ${dims}${more} }`];
    });
}

function stepConfig(text: string): string {
  const [model = "", maps = ""] = text.split(":");
  const [name = "", version = "-1"] = model.trim().split("@");
  const [from = "", to = ""] = maps.split(">");
  return `step { model_name: "${name}" model_version: ${version} ${mapConfig("input_map", from)} ${mapConfig("output_map", to)} }`;
}

function mapConfig(field: string, text: string): string {
  return text
    .split(",")
    .map((pair) => pair.trim().split("="))
    .map(([key = "", value = ""]) => `${field} { key: "${key}" value: "${value}" }`)
    .join(" ");
}
