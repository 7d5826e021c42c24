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
    return states.map(({ version, state, reason }) => {
      const entry = { name, version: String(version), state };
      if (state !== "READY") return { ...entry, ...(reason === "" ? {} : { reason }) };
      const own = instances.filter((one) => one.modelName === name && one.version === entry.version);
      const notes = own.flatMap(({ instanceName, note }) =>
        note === undefined ? [] : [`instance ${instanceName} ${note}`],
      );
      return {
        ...entry,
        // As it is now: an instance may have moved since the load.
        ...(notes.length === 0 ? {} : { reason: notes.join("; ") }),
        ...(own.length === 0 ? {} : { instances: indexed(own) }),
      };
    });
  });
}

function indexed(instances: readonly InstanceReport[]): readonly IndexedInstance[] {
  return instances.flatMap(({ device, instanceName, nonFiniteOutputs }) => {
    if (device === undefined) return [];
    const { executionProvider, build, adapter, threads } = device;
    return [
      {
        name: instanceName,
        execution_provider: executionProvider,
        build,
        ...(adapter === undefined ? {} : { adapter }),
        threads,
        ...(nonFiniteOutputs === undefined ? {} : { non_finite_outputs: nonFiniteOutputs }),
      },
    ];
  });
}
