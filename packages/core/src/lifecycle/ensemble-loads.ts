import type { Logger } from "../ports.ts";
import { InferenceError } from "@naiad/protocol";
import { notInRepository } from "../repository/model-repository.ts";
import type { Dependencies } from "./dependency-graph.ts";
import { circleFault, dependencyFault, dependentsInOrder } from "./dependency-graph.ts";
import type { LoadGroup, Poll } from "./load-group.ts";
import type { EnsembleEntry, EnsemblePlanned, ModelEntry } from "./model-entry.ts";
import { isNews, upstreamOf } from "./model-entry.ts";
import { UNLOADED } from "./model-state.ts";
import { loadFailurePrefix } from "./model-versions.ts";
import type { LoadPlan, ServingVersion } from "./serving-version.ts";
import type { SignalFan } from "./signal-fan.ts";
import type { Turns } from "./turns.ts";

/** The part of the lifecycle that knows that models need each other. */
export interface EnsembleLoads {
  loadComposing(
    ensemble: string,
    plan: EnsemblePlanned,
    group: LoadGroup,
  ): Promise<ReadonlyMap<string, InferenceError>>;
  /** Its models have been loaded, or could not be. Rejects when it does not go with them. */
  load(
    modelName: string,
    entry: ModelEntry,
    load: EnsembleLoad,
    signal: AbortSignal,
  ): Promise<"changed" | "unchanged">;
  /** The ensembles that need the model are loaded with it as it is now, or taken out of service. Never rejects. */
  follow(modelName: string): Promise<void>;
  dependencies(): Dependencies;
}

export interface EnsembleLoad {
  readonly ensemble: EnsembleEntry;
  /** Its own configuration or files are others than before. */
  readonly isNew: boolean;
}

export interface EnsembleLoadsContext {
  readonly entries: ReadonlyMap<string, ModelEntry>;
  readonly turns: Turns;
  readonly stopping: SignalFan;
  readonly logger: Logger;
  /** Loads a model in its turn, once for a group. */
  readonly attempt: (modelName: string, poll: Poll, group: LoadGroup) => Promise<void>;
  readonly loadPlan: (
    modelName: string,
    entry: ModelEntry,
    load: { readonly fingerprint: string | undefined; readonly plan: LoadPlan },
    signal: AbortSignal,
  ) => Promise<void>;
}

export function createEnsembleLoads(context: EnsembleLoadsContext): EnsembleLoads {
  const { entries, turns, stopping, logger, attempt, loadPlan } = context;

  return { loadComposing, load: loadEnsemble, follow, dependencies };

  /**
   * Loads what the ensemble needs, where the group says how. Gives why it could not. A model that waits for this very
   * ensemble is not waited for: they need each other.
   */
  async function loadComposing(
    ensemble: string,
    { ensemble: { requirements } }: EnsemblePlanned,
    group: LoadGroup,
  ): Promise<ReadonlyMap<string, InferenceError>> {
    const failures = new Map<string, InferenceError>();
    const { pollComposing } = group;
    if (pollComposing === undefined) return failures;
    const composing = [...requirements.keys()].filter(
      (modelName) => !turns.waitsFor(modelName, ensemble) && !keepsOverride(modelName, group),
    );
    const loadOne = async (modelName: string): Promise<void> => {
      try {
        const poll = pollComposing(modelName);
        if (poll !== "absent") await attempt(modelName, poll, group);
        else if (entries.get(modelName)?.isKnown !== true) throw notInRepository(modelName);
      } catch (thrown) {
        failures.set(modelName, InferenceError.from(thrown));
      }
    };
    await turns.whileWaiting(ensemble, composing, () => Promise.all(composing.map(loadOne)));
    return failures;
  }

  /** What a client has loaded its own way is not loaded again for an ensemble. */
  function keepsOverride(modelName: string, { attempts }: LoadGroup): boolean {
    const origin = entries.get(modelName)?.versions.origin;
    return origin?.config !== undefined && !attempts.has(modelName);
  }

  async function loadEnsemble(
    modelName: string,
    entry: ModelEntry,
    { ensemble, isNew }: EnsembleLoad,
    signal: AbortSignal,
  ): Promise<"changed" | "unchanged"> {
    const { plan, fingerprint } = ensemble;
    const models = readyVersions(plan.ensemble.requirements.keys());
    if (!isNew && ensemble.loadedWith !== undefined && isSame(ensemble.loadedWith, models))
      return "unchanged";
    const fault =
      circleFault(dependencies(), modelName) ??
      dependencyFault(modelName, plan.ensemble.requirements, (name) =>
        upstreamOf(entries.get(name), ensemble.failures.get(name)),
      ) ??
      validationFault(plan);
    if (fault !== undefined) {
      ensemble.fault = fault;
      ensemble.loadedWith = undefined;
      entry.fingerprint = undefined;
      const error = new InferenceError("INVALID_ARG", `${loadFailurePrefix(modelName)}${fault}\n`);
      if (isNews(entry, error.message)) logger.log("error", error.message.trimEnd());
      // As in Triton's index: with a model that is unloaded it was unloaded too, anything else has a reason.
      if (!isNew && wasServed(entry) && lacksUnloaded(plan)) entry.versions.unload();
      else entry.versions.refuse(plan, new InferenceError("INVALID_ARG", fault));
      throw error;
    }
    ensemble.fault = undefined;
    try {
      await loadPlan(modelName, entry, { fingerprint, plan }, signal);
    } catch (thrown) {
      if (!signal.aborted) retireIfStale(entry, ensemble);
      throw thrown;
    }
    ensemble.loadedWith = models;
    return "changed";
  }

  /** Nothing could take the place of what is served; it goes too where it was made for other versions of its models. */
  function retireIfStale({ versions, failure = "" }: ModelEntry, ensemble: EnsembleEntry): void {
    const { plan, loadedWith = [] } = ensemble;
    const current = readyVersions(new Set(loadedWith.map(({ modelName }) => modelName)));
    if (versions.ready().length === 0 || isSame(loadedWith, current)) return;
    ensemble.loadedWith = undefined;
    versions.refuse(plan, new InferenceError("INVALID_ARG", failure.trimEnd()));
  }

  async function follow(modelName: string): Promise<void> {
    for (const dependent of dependentsInOrder(dependencies(), modelName)) {
      await turns.take(dependent, () =>
        stopping.run(async (signal) => {
          const entry = entries.get(dependent);
          if (stopping.aborted || entry?.ensemble === undefined) return;
          const { ensemble } = entry;
          // What it said is no longer the reason.
          ensemble.failures = new Map([...ensemble.failures].filter(([name]) => name !== modelName));
          try {
            await loadEnsemble(dependent, entry, { ensemble, isNew: false }, signal);
          } catch {
            // It is in the log and in what the index shows.
          }
        }),
      );
    }
  }

  function dependencies(): Dependencies {
    return new Map(
      [...entries].flatMap(([name, { ensemble }]) =>
        ensemble === undefined ? [] : [[name, ensemble.plan.ensemble.requirements] as const],
      ),
    );
  }

  /** Whether it needs a model that nobody serves because it was unloaded, or an ensemble that has gone with one. */
  function lacksUnloaded({ ensemble: { requirements } }: EnsemblePlanned): boolean {
    return [...requirements.keys()].some((modelName) => {
      const needed = entries.get(modelName);
      return needed?.isKnown !== true || (needed.ensemble?.fault !== undefined && wasServed(needed));
    });
  }

  function readyVersions(modelNames: Iterable<string>): readonly ServingVersion[] {
    return [...modelNames].flatMap((modelName) => entries.get(modelName)?.versions.ready() ?? []);
  }
}

function isSame(one: readonly ServingVersion[], other: readonly ServingVersion[]): boolean {
  return one.length === other.length && one.every((serving, index) => serving === other[index]);
}

/** Its versions are served, or not any more with no other reason than that. */
function wasServed({ versions }: ModelEntry): boolean {
  return versions
    .states()
    .some(
      ({ state, reason }) =>
        state === "READY" || (state === "UNLOADING" && reason === "") || reason === UNLOADED,
    );
}

function validationFault({ ensemble }: EnsemblePlanned): string | undefined {
  try {
    ensemble.validate();
    return undefined;
  } catch (thrown) {
    return InferenceError.from(thrown).message;
  }
}
