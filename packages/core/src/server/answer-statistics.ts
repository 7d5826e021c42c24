import type { ModelReference, ModelStatistics } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { ModelLifecycle } from "../lifecycle/model-lifecycle.ts";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import { parseModelVersion } from "./model-version-text.ts";

/** Of every ready version that the request means; no name means all models. */
export function answerStatistics(lifecycle: ModelLifecycle, reference: ModelReference): ModelStatistics {
  return {
    model_stats: servedVersions(lifecycle, reference).map(({ modelName, version, statistics }) =>
      statistics.snapshot({ name: modelName, version: String(version) }),
    ),
  };
}

function servedVersions(
  lifecycle: ModelLifecycle,
  { modelName, modelVersion }: ModelReference,
): readonly ServingVersion[] {
  const wanted = parseModelVersion(modelVersion);
  if (modelName === "") return lifecycle.ready();
  const versions = lifecycle.ready(modelName);
  if (versions.length === 0) {
    throw new InferenceError("INVALID_ARG", `requested model '${modelName}' is not available`);
  }
  if (wanted === undefined) return versions;
  const found = versions.filter(({ version }) => version === wanted);
  if (found.length > 0) return found;
  throw new InferenceError(
    "INVALID_ARG",
    `requested model version is not available for model '${modelName}'`,
  );
}
