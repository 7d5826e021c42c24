import type { RepositoryModelLoad, RepositoryModelUnload, ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { LoadGroup, Poll } from "../lifecycle/load-group.ts";
import { createLoadGroup } from "../lifecycle/load-group.ts";
import type { ModelLifecycle } from "../lifecycle/model-lifecycle.ts";
import type { ModelLoader } from "../lifecycle/model-loader.ts";
import type { LoadOrigin } from "../lifecycle/serving-version.ts";
import type { Clock, Logger, ModelFile, RepositorySource } from "../ports.ts";
import type { RepositoryModel, RepositorySnapshot } from "../repository/model-repository.ts";
import { readRepositories, requireModel } from "../repository/model-repository.ts";
import { sleep } from "../repository/sleep.ts";

/** Which models are loaded when: Triton's control modes. */
export interface ModelControl {
  /** Loads what the mode says. Rejects with Triton's text when a model fails, after all were tried. */
  loadInitial(signal: AbortSignal): Promise<void>;
  /** In mode poll, looks after changes until `signal` fires; resolves then. Never rejects. */
  watch(signal: AbortSignal): Promise<void>;
  /** A client's wish; refused outside of mode explicit. It is carried out even if the client goes away meanwhile. */
  load(request: RepositoryModelLoad): Promise<void>;
  /** With `unloadDependents` also what was loaded for this model alone. */
  unload(request: RepositoryModelUnload): Promise<void>;
  /** The repositories as they are now. Rejects when none of them can be read. */
  readRepositories(signal: AbortSignal): Promise<RepositorySnapshot>;
  /** Of all repositories, as they were read last; `undefined` where one of them could not be. */
  knownFiles(): readonly ModelFile[] | undefined;
}

export interface ModelControlContext {
  readonly options: ServerOptions;
  readonly sources: readonly RepositorySource[];
  readonly lifecycle: ModelLifecycle;
  readonly loader: ModelLoader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Loaded at start in the place of what the options say. */
  readonly inherited?: readonly LoadOrigin[];
}

const ALL_MODELS = "*";

export function createModelControl(context: ModelControlContext): ModelControl {
  const { options, sources, lifecycle, loader, clock, logger } = context;
  let known: readonly ModelFile[] | undefined;

  async function loadInitial(signal: AbortSignal): Promise<void> {
    refuseContradictions(options);
    // Also where nothing is to be loaded: a repository that is not there is a mistake to be told at once.
    const snapshot = await readAndReport(signal);
    const isAll = options.modelControlMode !== "explicit" || options.loadModels.includes(ALL_MODELS);
    const names = isAll ? [...snapshot.models.keys(), ...snapshot.ambiguousNames] : options.loadModels;
    const origins = context.inherited ?? names.map((modelName) => ({ modelName }));
    const failures = snapshot.failures.map(({ sourceId, error }) => `${sourceId}: ${error.message}`);
    const group = groupOf(snapshot, origins);
    await Promise.all(
      origins.map(async (origin) => {
        const failure = await loadFrom(snapshot, origin, group);
        if (failure !== undefined) failures.push(`${origin.modelName}: ${failure.message}`);
      }),
    );
    signal.throwIfAborted();
    if (failures.length > 0) {
      throw new InferenceError("INTERNAL", `failed to load all models: ${failures.sort().join("; ")}`);
    }
  }

  /** Resolves with the reason, which the lifecycle has logged, where the model could not be loaded. */
  async function loadFrom(
    snapshot: RepositorySnapshot,
    origin: LoadOrigin,
    group: LoadGroup,
  ): Promise<InferenceError | undefined> {
    const { modelName, forOthers } = origin;
    try {
      await lifecycle.load(modelName, pollFrom(snapshot, origin), {
        group,
        ...(forOthers === undefined ? {} : { forOthers }),
      });
      return undefined;
    } catch (thrown) {
      return InferenceError.from(thrown);
    }
  }

  function pollFrom(snapshot: RepositorySnapshot, origin: LoadOrigin): Poll {
    return () => loader.pollAgain(origin, () => Promise.resolve(requireModel(snapshot, origin.modelName)));
  }

  /** Loads that belong together: of these, and of what ensembles among them need beside. */
  function groupOf(snapshot: RepositorySnapshot, origins: readonly LoadOrigin[]): LoadGroup {
    return createLoadGroup((modelName) => {
      const origin = origins.find((one) => one.modelName === modelName);
      if (origin !== undefined) return pollFrom(snapshot, origin);
      // The reason is part of what the ensemble is refused with, and for the log that is enough.
      return snapshot.models.has(modelName) ? pollFrom(snapshot, { modelName }) : "absent";
    });
  }

  async function readAll(signal: AbortSignal): Promise<RepositorySnapshot> {
    const snapshot = await readRepositories(sources, signal);
    known = snapshot.failures.length === 0 ? snapshot.files : undefined;
    return snapshot;
  }

  async function readAndReport(signal: AbortSignal): Promise<RepositorySnapshot> {
    const snapshot = await readAll(signal);
    for (const { sourceId, error } of snapshot.failures) {
      logger.log("error", `model repository '${sourceId}' could not be read: ${error.message}`);
    }
    return snapshot;
  }

  async function watch(signal: AbortSignal): Promise<void> {
    if (options.modelControlMode !== "poll") return;
    const pauseNs = Math.max(options.repositoryPollSecs, 1) * 1e9;
    for (;;) {
      try {
        await sleep(clock, pauseNs, signal);
        await pollOnce(signal);
      } catch (thrown) {
        if (signal.aborted) return;
        logger.log("error", `failed to poll model repositories: ${InferenceError.from(thrown).message}`);
      }
    }
  }

  async function pollOnce(signal: AbortSignal): Promise<void> {
    const snapshot = await readAndReport(signal);
    // What stands in an unreadable repository is unknown and not gone.
    const isComplete = snapshot.failures.length === 0;
    const gone = lifecycle.modelNames().filter((name) => isComplete && !snapshot.models.has(name));
    await Promise.all(gone.map((name) => lifecycle.unload(name)));
    const group = groupOf(snapshot, []);
    await Promise.all(
      [...snapshot.models.keys()].map((modelName) => loadFrom(snapshot, { modelName }, group)),
    );
  }

  function requireExplicitMode(): void {
    if (options.modelControlMode === "explicit") return;
    throw new InferenceError(
      "UNAVAILABLE",
      "explicit model load / unload is not allowed if polling is enabled: " +
        `this server was started in model control mode '${options.modelControlMode}'; ` +
        "it is mode 'explicit' in which models are loaded and unloaded by request",
    );
  }

  return {
    loadInitial,
    watch,
    load: async (request) => {
      requireExplicitMode();
      refuseBadName(request.modelName);
      let snapshot: Promise<RepositorySnapshot> | undefined;
      const found = async (modelName: string, signal: AbortSignal): Promise<RepositoryModel> =>
        requireModel(await (snapshot ??= readAll(signal)), modelName);
      const group = createLoadGroup(
        (modelName) => (signal) => loader.pollAgain({ modelName }, () => found(modelName, signal)),
      );
      await lifecycle.load(
        request.modelName,
        (signal) => loader.poll(request, () => found(request.modelName, signal)),
        { group },
      );
    },
    unload: async ({ modelName, unloadDependents }) => {
      requireExplicitMode();
      // Known as long as the model is there.
      const going = unloadDependents ? lifecycle.goesWith(modelName) : [];
      await Promise.all([modelName, ...going].map((name) => lifecycle.unload(name)));
    },
    knownFiles: () => known,
    readRepositories: async (signal) => {
      const snapshot = await readAndReport(signal);
      const [failure] = snapshot.failures;
      if (failure !== undefined && snapshot.failures.length === sources.length) throw failure.error;
      return snapshot;
    },
  };
}

function refuseContradictions({ modelControlMode, loadModels }: ServerOptions): void {
  if (modelControlMode !== "explicit" && loadModels.length > 0) {
    throw new InferenceError(
      "INVALID_ARG",
      "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.",
    );
  }
  if (loadModels.includes(ALL_MODELS) && loadModels.length > 1) {
    throw new InferenceError(
      "INVALID_ARG",
      `Wildcard model name '${ALL_MODELS}' must be the ONLY startup model if specified at all.`,
    );
  }
}

function refuseBadName(modelName: string): void {
  const name = modelName.trim();
  if (name === "") {
    throw new InferenceError(
      "INVALID_ARG",
      "Model name cannot be empty. Please enter a valid name to deploy.",
    );
  }
  if (name === ".." || name.includes("/")) {
    throw new InferenceError(
      "INVALID_ARG",
      `invalid model name '${modelName}', model name must not contain path traversal characters`,
    );
  }
}
