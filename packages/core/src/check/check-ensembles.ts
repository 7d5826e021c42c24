import type { ModelConfig } from "@naiad/model-config";
import { withTransactionPolicy } from "@naiad/model-config";
import { nearestName } from "@naiad/protocol";
import { ensembleRequirements } from "../ensemble/ensemble-plan.ts";
import { validateComposing } from "../ensemble/validate-composing.ts";
import type { Dependencies } from "../lifecycle/dependency-graph.ts";
import { circleFault, LATEST_HINT } from "../lifecycle/dependency-graph.ts";
import type { CheckedConfig, CheckedModel } from "./check-model.ts";

/** Adds to the sheets of ensembles what is wrong between them and the models that they need. */
export function checkEnsembles(models: readonly CheckedModel[]): void {
  const mains = new Map<string, CheckedConfig>();
  for (const { modelName, configs } of models) {
    if (configs[0] !== undefined) mains.set(modelName, configs[0]);
  }
  const dependencies: Dependencies = new Map(
    [...mains].flatMap(([modelName, { config }]) => {
      const requirements = config === undefined ? undefined : ensembleRequirements(config);
      return requirements === undefined ? [] : [[modelName, requirements] as const];
    }),
  );
  const visited = new Set<string>();
  for (const { modelName } of models) visit(modelName);

  /** Those that an ensemble needs come before it, so that it is known whether they can be served. */
  function visit(name: string): void {
    if (visited.has(name)) return;
    visited.add(name);
    for (const needed of dependencies.get(name)?.keys() ?? []) visit(needed);
    const model = models.find(({ modelName }) => modelName === name);
    for (const checked of model?.configs ?? []) checkEnsemble(name, checked, mains, dependencies);
  }
}

function checkEnsemble(
  ensemble: string,
  { config, sheet }: CheckedConfig,
  mains: ReadonlyMap<string, CheckedConfig>,
  dependencies: Dependencies,
): void {
  if (config?.schedulingChoice.case !== "ensembleScheduling") return;
  const hadErrors = sheet.hasErrors;
  const { step: steps } = config.schedulingChoice.value;
  for (const [index, { modelName, modelVersion }] of steps.entries()) {
    const path = `ensemble_scheduling.step[${index}]`;
    const error = (message: string, hint?: string): void => {
      sheet.issue({ code: "INVALID_ARG", message, path, ...(hint !== undefined && { hint }) });
    };
    const composing = mains.get(modelName);
    if (composing === undefined) {
      const near = nearestName(modelName, [...mains.keys()]);
      error(
        `ensemble ${ensemble} contains models that are not available or ambiguous: ${modelName}`,
        near === undefined ? undefined : `did you mean "${near}"?`,
      );
    } else if (composing.sheet.hasErrors && modelName !== ensemble) {
      error(
        `ensemble '${ensemble}' depends on '${modelName}' which has no loaded version.`,
        `see the errors of '${modelName}'`,
      );
    } else if (
      modelVersion >= 0n &&
      !composing.versions.some((version) => BigInt(version) === modelVersion)
    ) {
      error(
        `ensemble '${ensemble}' depends on '${modelName}' whose required version ${String(modelVersion)} is not loaded.`,
        `its version policy serves ${composing.versions.join(", ")}${modelVersion === 0n ? `; ${LATEST_HINT}` : ""}`,
      );
    }
  }
  const circle = circleFault(dependencies, ensemble);
  if (circle !== undefined) {
    sheet.issue({ code: "INVALID_ARG", message: circle, path: "ensemble_scheduling" });
    return;
  }
  const composing = steps.flatMap((step) => {
    const served = servedConfig(step.modelName, mains);
    return served === undefined ? [] : [{ step, config: served }];
  });
  if (hadErrors || composing.length < steps.length) return;
  for (const issue of validateComposing(config, composing)) sheet.issue(issue);
}

/** An ensemble is decoupled where one of its models is. */
function servedConfig(
  modelName: string,
  mains: ReadonlyMap<string, CheckedConfig>,
  asking: readonly string[] = [],
): ModelConfig | undefined {
  const config = mains.get(modelName)?.config;
  if (config?.schedulingChoice.case !== "ensembleScheduling") return config;
  const decoupled = config.schedulingChoice.value.step.some(
    (step) =>
      !asking.includes(step.modelName) &&
      servedConfig(step.modelName, mains, [...asking, modelName])?.modelTransactionPolicy?.decoupled === true,
  );
  return withTransactionPolicy(config, { decoupled });
}
