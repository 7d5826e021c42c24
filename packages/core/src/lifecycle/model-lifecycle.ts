import { InferenceError } from "@naiad/protocol";
import type { Logger } from "../ports.ts";
import { goesWith } from "./dependency-graph.ts";
import { createEnsembleLoads } from "./ensemble-loads.ts";
import { createLimit } from "./limit.ts";
import type { LoadGroup, Poll } from "./load-group.ts";
import { createLoadGroup } from "./load-group.ts";
import type { ModelEntry } from "./model-entry.ts";
import { isEnsemblePlan, isNews } from "./model-entry.ts";
import { isHealthy } from "./model-state.ts";
import type { ModelVersions, NumberedState } from "./model-versions.ts";
import { createModelVersions, loadFailurePrefix } from "./model-versions.ts";
import type { LoadOrigin, LoadPlan, ServingVersion } from "./serving-version.ts";
import { isWorking } from "./serving-version.ts";
import { createSignalFan } from "./signal-fan.ts";
import { createTurns } from "./turns.ts";

/**
 * All models that were ever loaded. Loads and unloads of one model happen one after another, those of different models
 * side by side; an ensemble is loaded after its models. It is loaded with them again, or taken out of service, when one of
 * them is loaded anew or unloaded, and comes back by itself when it can.
 */
export interface ModelLifecycle {
  /**
   * Loads the model, or loads it anew when it changed; does nothing when it is served and unchanged. Resolves when the
   * ensembles that need it have followed. Rejects with Triton's texts, and the reason behind them, and then what was
   * served before is still served, unless it is an ensemble that does not go with its models any more.
   */
  load(modelName: string, poll: Poll, options?: LoadOptions): Promise<void>;
  /**
   * Resolves when no version takes requests any more, and none of the ensembles that need them; those accepted are still
   * answered. Unknown models are fine.
   */
  unload(modelName: string): Promise<void>;
  /** What nobody asked for by name and serves for this ensemble alone. */
  goesWith(modelName: string): readonly string[];
  /** Ends running loads, takes everything out of service and resolves when nothing is left. Idempotent. */
  stop(): Promise<void>;

  /** `undefined` asks for the highest ready version. Throws Triton's lookup errors. */
  find(modelName: string, version: number | undefined): ServingVersion;
  /** Whether `find` would give something that can answer. Throws for a model or version that is not known at all. */
  isReady(modelName: string, version: number | undefined): boolean;
  /** Every ready version of one model or of all, in the order of name and version. */
  ready(modelName?: string): readonly ServingVersion[];
  /** States of all versions that were ever tried, ascending; empty for an unknown model. */
  states(modelName: string): readonly NumberedState[];
  /** What every model with a ready version was loaded with, in the order of names. */
  origins(): readonly LoadOrigin[];
  /** Names of all models with states, sorted. */
  modelNames(): readonly string[];
  /** What `--strict-readiness` asks for. */
  readonly isHealthy: boolean;
}

export interface LoadOptions {
  /** Of loads that belong together: what one of them has loaded or tried to is not tried again for another. */
  readonly group?: LoadGroup;
  /** It is loaded for others alone; absent: somebody asked for it by name. */
  readonly forOthers?: true;
}

export interface ModelLifecycleOptions {
  readonly logger: Logger;
  readonly onChange: (modelName: string, state: NumberedState) => void;
  /** Loads at the same time, of all models; any number if absent. */
  readonly loadThreadCount?: number;
}

export function createModelLifecycle({
  logger,
  onChange,
  loadThreadCount = Infinity,
}: ModelLifecycleOptions): ModelLifecycle {
  const entries = new Map<string, ModelEntry>();
  const turns = createTurns();
  const limit = createLimit(loadThreadCount);
  const stopping = createSignalFan();
  const ensembles = createEnsembleLoads({ entries, turns, stopping, logger, attempt, loadPlan });

  async function load(modelName: string, poll: Poll, options: LoadOptions): Promise<void> {
    const { group = createLoadGroup(), forOthers } = options;
    if (forOthers === undefined) group.askedFor.add(modelName);
    try {
      await attempt(modelName, poll, group);
    } finally {
      // An ensemble may have brought it along before.
      const entry = entries.get(modelName);
      if (entry?.isKnown === true) entry.isAskedFor ||= forOthers === undefined;
      await Promise.all(group.followers);
    }
  }

  /** Once for a group. Rejects when it fails; those that need the model follow in any case. */
  function attempt(modelName: string, poll: Poll, group: LoadGroup): Promise<void> {
    const known = group.attempts.get(modelName);
    if (known !== undefined) return known;
    const attempted = turns.take(modelName, () =>
      stopping.run((signal) => loadInTurn(modelName, poll, group, signal)),
    );
    const made = attempted.then(
      (result) => {
        if (result === "changed") group.followers.push(ensembles.follow(modelName));
      },
      (thrown: unknown) => {
        // Where it could not even be polled nothing has changed.
        if (entries.get(modelName)?.isKnown === true) group.followers.push(ensembles.follow(modelName));
        throw thrown;
      },
    );
    group.attempts.set(modelName, made);
    return made;
  }

  async function loadInTurn(
    modelName: string,
    poll: Poll,
    group: LoadGroup,
    signal: AbortSignal,
  ): Promise<"changed" | "unchanged"> {
    const polled = await pollOrExplain(modelName, () =>
      limit.run(() => planChanged(modelName, poll, signal)),
    );
    const entry = entryOf(modelName);
    entry.isKnown = true;
    entry.isAskedFor ||= group.askedFor.has(modelName);
    if (polled !== undefined) {
      const { plan, fingerprint } = polled;
      const { fault, loadedWith, told = new Set<string>() } = entry.ensemble ?? {};
      entry.ensemble = isEnsemblePlan(plan)
        ? { plan, fingerprint, failures: new Map(), loadedWith, fault, told }
        : undefined;
    }
    const { ensemble } = entry;
    if (ensemble === undefined) {
      if (polled === undefined) return "unchanged";
      await loadPlan(modelName, entry, polled, signal);
      return "changed";
    }
    ensemble.failures = await ensembles.loadComposing(modelName, ensemble.plan, group);
    return ensembles.load(modelName, entry, { ensemble, isNew: polled !== undefined }, signal);
  }

  /** `undefined`: it is as it was, and served, or an ensemble that waits for its models. */
  async function planChanged(
    modelName: string,
    poll: Poll,
    signal: AbortSignal,
  ): Promise<{ readonly fingerprint: string | undefined; readonly plan: LoadPlan } | undefined> {
    const model = await poll(signal);
    const entry = entries.get(modelName);
    const { fingerprint } = model;
    if (fingerprint !== undefined && entry !== undefined) {
      const isServed = entry.versions.ready().length > 0;
      if (isServed && fingerprint === entry.fingerprint) return undefined;
      if (entry.ensemble?.fault !== undefined && fingerprint === entry.ensemble.fingerprint) return undefined;
    }
    return { fingerprint, plan: await model.plan(signal) };
  }

  async function loadPlan(
    modelName: string,
    entry: ModelEntry,
    { fingerprint, plan }: { readonly fingerprint: string | undefined; readonly plan: LoadPlan },
    signal: AbortSignal,
  ): Promise<void> {
    if (plan.versions.length > 0) {
      logger.log("info", `loading: ${plan.versions.map((v) => `${modelName}:${String(v)}`).join(", ")}`);
    }
    entry.fingerprint = undefined;
    try {
      await limit.run(() => entry.versions.load(plan, signal));
    } catch (thrown) {
      const { message } = InferenceError.from(thrown);
      entry.failure = message.replace(loadFailurePrefix(modelName), "");
      if (isNews(entry, message)) logger.log("error", message.trimEnd());
      throw thrown;
    }
    entry.failure = undefined;
    entry.ensemble?.told.clear();
    entry.fingerprint = fingerprint;
    logger.log("info", `successfully loaded '${modelName}'`);
  }

  /** Triton keeps the reason to its log; here it follows Triton's text. A failed poll makes the next load try again. */
  async function pollOrExplain<Result>(modelName: string, poll: () => Promise<Result>): Promise<Result> {
    try {
      stopping.throwIfAborted();
      return await poll();
    } catch (thrown) {
      const entry = entries.get(modelName);
      if (entry !== undefined) entry.fingerprint = undefined;
      const cause = InferenceError.from(thrown);
      if (stopping.aborted) throw cause;
      const message = `failed to load '${modelName}', failed to poll from model repository: ${cause.message}`;
      logger.log("error", message);
      throw new InferenceError("INTERNAL", message, { cause });
    }
  }

  function entryOf(modelName: string): ModelEntry {
    const known = entries.get(modelName);
    if (known !== undefined) return known;
    const versions = createModelVersions({
      modelName,
      logger,
      onChange: (state) => {
        onChange(modelName, state);
      },
    });
    const entry: ModelEntry = {
      versions,
      fingerprint: undefined,
      isKnown: false,
      isAskedFor: false,
      failure: undefined,
      ensemble: undefined,
    };
    entries.set(modelName, entry);
    return entry;
  }

  function unload(modelName: string): void {
    const entry = entries.get(modelName);
    if (entry === undefined) return;
    entry.fingerprint = undefined;
    entry.isKnown = false;
    entry.isAskedFor = false;
    entry.failure = undefined;
    entry.ensemble = undefined;
    entry.versions.unload();
  }

  function known(modelName: string): ModelVersions {
    const entry = entries.get(modelName);
    if (entry !== undefined) return entry.versions;
    throw new InferenceError("NOT_FOUND", `'${modelName}' is not found`);
  }

  function modelNames(): readonly string[] {
    return [...entries.keys()].sort();
  }

  return {
    load: (modelName, poll, options = {}) => load(modelName, poll, options),
    unload: async (modelName) => {
      await turns.take(modelName, () => {
        unload(modelName);
        return Promise.resolve();
      });
      await ensembles.follow(modelName);
    },
    goesWith: (modelName) =>
      goesWith(ensembles.dependencies(), modelName, (other) => entries.get(other)?.isAskedFor === true),
    stop: async () => {
      stopping.abort(new InferenceError("CANCELLED", "the server is stopping"));
      await Promise.all(
        [...new Set([...turns.busy(), ...entries.keys()])].map((modelName) =>
          turns.take(modelName, async () => {
            unload(modelName);
            await entries.get(modelName)?.versions.drained();
          }),
        ),
      );
    },
    find: (modelName, version) => explainLookup(() => known(modelName).find(version)),
    isReady: (modelName, version) => explainLookup(() => known(modelName).isReady(version)),
    ready: (modelName) =>
      (modelName === undefined ? modelNames() : [modelName]).flatMap(
        (name) => entries.get(name)?.versions.ready() ?? [],
      ),
    states: (modelName) => entries.get(modelName)?.versions.states() ?? [],
    origins: () =>
      modelNames().flatMap((name) => {
        const entry = entries.get(name);
        const origin = entry?.versions.origin;
        if (origin === undefined) return [];
        return entry?.isAskedFor === true ? [origin] : [{ ...origin, forOthers: true as const }];
      }),
    modelNames,
    get isHealthy() {
      return [...entries.values()].every(({ versions }) => {
        const states = versions.states();
        return states.length > 0 && states.every(isHealthy) && versions.ready().every(isWorking);
      });
    },
  };
}

function explainLookup<Result>(lookUp: () => Result): Result {
  try {
    return lookUp();
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    throw new InferenceError(code, `Request for unknown model: ${message}`);
  }
}
