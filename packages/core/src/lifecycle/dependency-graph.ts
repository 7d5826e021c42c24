import type { EnsembleRequirements } from "../ensemble/ensemble-plan.ts";

/** What every ensemble needs, by its name. */
export type Dependencies = ReadonlyMap<string, EnsembleRequirements>;

/** How a composing model stands, for the ensemble that needs it. */
export type Upstream =
  /** It was never loaded, or is unloaded. `reason`: why it could not be loaded just now. */
  | { readonly kind: "missing"; readonly reason?: string }
  /** An ensemble that cannot be served for what it needs itself. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** Without a ready version; `reason`: why its load failed. */
  | { readonly kind: "down"; readonly reason?: string }
  | { readonly kind: "ready"; readonly versions: readonly number[] };

/** Why an ensemble cannot be served for its models, in Triton's words; `undefined` where nothing is against it. */
export function dependencyFault(
  ensemble: string,
  requirements: EnsembleRequirements,
  upstreamOf: (modelName: string) => Upstream,
): string | undefined {
  const upstreams = [...requirements].map(
    ([modelName, versions]) => [modelName, versions, upstreamOf(modelName)] as const,
  );
  const missing = upstreams.flatMap(([modelName, , upstream]) =>
    upstream.kind === "missing" ? [{ modelName, reason: upstream.reason }] : [],
  );
  if (missing.length > 0) {
    const names = missing.map(({ modelName }) => modelName).join(", ");
    // Triton leaves the reasons to its log.
    const reasons = missing.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
    return [
      `ensemble ${ensemble} contains models that are not available or ambiguous: ${names}`,
      ...reasons,
    ].join("; ");
  }
  for (const [modelName, versions, upstream] of upstreams) {
    const fault = upstreamFault(upstream, modelName, versions);
    if (fault !== undefined) return `ensemble '${ensemble}' depends on '${modelName}' ${fault}`;
  }
  return undefined;
}

function upstreamFault(
  upstream: Upstream,
  modelName: string,
  versions: readonly number[],
): string | undefined {
  switch (upstream.kind) {
    case "missing":
      return undefined;
    case "invalid":
      return `which is not valid. Model '${modelName}' failed with error: ${upstream.reason}`;
    case "down":
      return upstream.reason === undefined
        ? "which has no loaded version."
        : `which has no loaded version. Model '${modelName}' loading failed with error: ${upstream.reason}`;
    case "ready": {
      const absent = versions.findLast((version) => !upstream.versions.includes(version));
      return absent === undefined
        ? undefined
        : `whose required version ${String(absent)} is not loaded.${absent === 0 ? ` (${LATEST_HINT})` : ""}`;
    }
  }
}

/** A step that leaves `model_version` out asks for version 0, and hardly ever means it. */
export const LATEST_HINT = "write `model_version: -1` for the latest";

/** Triton's text for an ensemble that, by way of others, needs itself. */
export function circleFault(dependencies: Dependencies, ensemble: string): string | undefined {
  const seen = new Set<string>();
  const last = predecessor(ensemble);
  return last === undefined
    ? undefined
    : `circular dependency between ensembles: ${ensemble} -> ... -> ${last} -> ${ensemble}`;

  function predecessor(name: string): string | undefined {
    if (seen.has(name)) return undefined;
    seen.add(name);
    const needs = [...(dependencies.get(name)?.keys() ?? [])];
    if (needs.includes(ensemble)) return name;
    for (const needed of needs) {
      const found = predecessor(needed);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Ensembles that need the model, by way of others too; each comes after those that it needs. Ends on circles. */
export function dependentsInOrder(dependencies: Dependencies, modelName: string): readonly string[] {
  const order: string[] = [];
  const seen = new Set([modelName]);
  visit(modelName);
  return order.reverse();

  function visit(name: string): void {
    for (const [ensemble, requirements] of dependencies) {
      if (!requirements.has(name) || seen.has(ensemble)) continue;
      seen.add(ensemble);
      visit(ensemble);
      order.push(ensemble);
    }
  }
}

/**
 * What goes with an ensemble (`unload_dependents`): the models that it needs, that nobody asked for by name, and that no
 * other ensemble needs which stays.
 */
export function goesWith(
  dependencies: Dependencies,
  ensemble: string,
  isAskedFor: (modelName: string) => boolean,
): readonly string[] {
  const going = [ensemble];
  for (const name of going) {
    for (const needed of dependencies.get(name)?.keys() ?? []) {
      const isNeeded = [...dependencies].some(
        ([other, requirements]) => !going.includes(other) && requirements.has(needed),
      );
      if (!isNeeded && !isAskedFor(needed) && !going.includes(needed)) going.push(needed);
    }
  }
  return going.slice(1);
}
