import { invariant } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import type { EnsembleStep } from "./ensemble-plan.ts";

/** `undefined` asks for the latest version. Throws Triton's lookup errors. */
export type FindServing = (modelName: string, version: number | undefined) => ServingVersion;

/** The model versions that one request of an ensemble uses from its beginning to its end. */
export interface HeldModels {
  of(step: EnsembleStep): ServingVersion;
  release(): void;
}

/**
 * One version for all steps that ask for the same. None of them stops to take requests before it is released. Throws
 * what `find` throws.
 */
export function holdModels(steps: Iterable<EnsembleStep>, find: FindServing): HeldModels {
  const held = new Map<string, { readonly serving: ServingVersion; readonly release: () => void }>();
  const keyOf = ({ modelName, modelVersion }: EnsembleStep): string => `${modelName}:${String(modelVersion)}`;
  const release = (): void => {
    for (const one of held.values()) one.release();
    held.clear();
  };
  try {
    for (const step of steps) {
      if (held.has(keyOf(step))) continue;
      const serving = find(step.modelName, step.modelVersion);
      held.set(keyOf(step), { serving, release: serving.hold() });
    }
  } catch (thrown) {
    release();
    throw thrown;
  }
  return {
    of: (step) => {
      const one = held.get(keyOf(step));
      invariant(one !== undefined, `step ${String(step.index)} is issued although no output needs it`);
      return one.serving;
    },
    release,
  };
}
