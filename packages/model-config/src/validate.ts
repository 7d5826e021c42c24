import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import type { InstanceGroupContext } from "./instance-groups.ts";
import { validateDynamicBatching } from "./validate-batching.ts";
import { validateEnsemble } from "./validate-ensemble.ts";
import { validateExtras, validateGeneral } from "./validate-general.ts";
import { validateInstanceGroups } from "./validate-instance-groups.ts";
import { validateIo } from "./validate-io.ts";
import { validateLabels } from "./validate-labels.ts";
import { validateSequenceBatching, validateStates } from "./validate-sequence.ts";

/**
 * When the configuration is looked at.
 * `poll`: it was read and normalised; with auto-complete its inputs and outputs may still be missing.
 * `load`: the backend completed it and its instance groups are normalised for this machine.
 */
export type ValidationContext =
  | { readonly stage: "poll"; readonly directoryName: string; readonly autoComplete: boolean }
  | { readonly stage: "load"; readonly instanceGroups: InstanceGroupContext };

/**
 * Everything that is wrong with a normalised configuration and can be said without other models, in the order in which
 * Triton looks: its error is the first issue.
 */
export function validateConfig(config: ModelConfig, context: ValidationContext): readonly ConfigIssue[] {
  const declared = [
    ...validateGeneral(config),
    ...validateDynamicBatching(config),
    ...validateSequenceBatching(config),
    ...validateEnsemble(config),
    ...validateExtras(config),
  ];
  switch (context.stage) {
    case "poll":
      return [
        ...declared,
        ...(context.autoComplete ? [] : validateIo(config)),
        ...validateDirectoryName(config.name, context.directoryName),
      ];
    case "load":
      return [
        ...validateInstanceGroups(config, context.instanceGroups),
        ...declared,
        ...validateIo(config),
        ...validateLabels(config),
        ...validateStates(config),
      ];
  }
}

function validateDirectoryName(modelName: string, directoryName: string): readonly ConfigIssue[] {
  if (modelName === directoryName) return [];
  return [
    invalid(
      "name",
      `unexpected directory name '${directoryName}' for model '${modelName}', directory name must equal model name`,
    ),
  ];
}
