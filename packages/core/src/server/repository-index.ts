import type { IndexedInstance, InstanceReport, RepositoryIndexEntry } from "@naiad/protocol";
import type { NumberedState } from "../lifecycle/model-versions.ts";
import type { RepositorySnapshot } from "../repository/model-repository.ts";
import { AMBIGUOUS_REASON } from "../repository/model-repository.ts";

/**
 * One entry per version of each model that stands in a repository, in the order of names and versions; a model that was
 * never loaded is only a name. What lives only through uploaded files is not listed, as in Triton.
 */
export function repositoryIndex(
  snapshot: RepositorySnapshot,
  statesOf: (modelName: string) => readonly NumberedState[],
  instances: readonly InstanceReport[],
  { ready }: { readonly ready: boolean },
): readonly RepositoryIndexEntry[] {
  const names = [...snapshot.models.keys(), ...snapshot.ambiguousNames].sort();
  return names.flatMap((name): readonly RepositoryIndexEntry[] => {
    if (!snapshot.models.has(name)) {
      return ready ? [] : [{ name, state: "UNAVAILABLE", reason: AMBIGUOUS_REASON }];
    }
    const states = statesOf(name).filter(({ state }) => !ready || state === "READY");
    if (states.length === 0) return ready ? [] : [{ name }];
    return states.map(({ version, state, reason }) => ({
      name,
      version: String(version),
      state,
      ...(reason === "" ? {} : { reason }),
      ...(state === "READY" ? { instances: indexed(instances, name, String(version)) } : {}),
    }));
  });
}

function indexed(
  instances: readonly InstanceReport[],
  modelName: string,
  version: string,
): readonly IndexedInstance[] {
  return instances.flatMap((instance) => {
    const { device, instanceName } = instance;
    if (instance.modelName !== modelName || instance.version !== version || device === undefined) return [];
    const { executionProvider, build, adapter, threads } = device;
    return [
      {
        name: instanceName,
        execution_provider: executionProvider,
        build,
        ...(adapter === undefined ? {} : { adapter }),
        threads,
      },
    ];
  });
}
