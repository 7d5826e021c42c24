import type { EnsemblePlan, EnsembleStep } from "./ensemble-plan.ts";

export interface KeptOutputsInput {
  readonly plan: EnsemblePlan;
  /** Steps that the request issues. */
  readonly needed: ReadonlySet<EnsembleStep>;
  /** Outputs of the ensemble that the request wants. */
  readonly requested: readonly string[];
  /** See `ServingVersion.deviceWorkers`; empty where there is none. */
  readonly workersOf: (step: EnsembleStep) => ReadonlySet<string>;
}

/**
 * Outputs of a step, by their names at its model, that may stay in the memory of the device: those that only other steps
 * read, each with an instance in every worker in which this step may run. Where several instances have the choice one may
 * still be asked elsewhere and has the tensor read back then, which costs what it would have cost at once. A response of a
 * decoupled model goes another way, as bytes.
 */
export function keptOutputs(
  step: EnsembleStep,
  { plan, needed, requested, workersOf }: KeptOutputsInput,
): readonly string[] {
  const own = workersOf(step);
  if (own.size === 0 || step.decoupled) return [];
  return step.outputs.flatMap(({ name, tensor }) => {
    if (requested.includes(tensor)) return [];
    const readers = plan.steps.filter(
      (reader) => needed.has(reader) && reader.inputs.some((input) => input.tensor === tensor),
    );
    const stays = readers.length > 0 && readers.every((reader) => isSubset(own, workersOf(reader)));
    return stays ? [name] : [];
  });
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((one) => all.has(one));
}
