import { InferenceError } from "@naiad/protocol";
import type { Logger } from "../ports.ts";
import { isHealthy } from "./model-state.ts";
import type { ModelVersions, NumberedState } from "./model-versions.ts";
import { createModelVersions } from "./model-versions.ts";
import type { SerialQueue } from "./serial-queue.ts";
import { createSerialQueue } from "./serial-queue.ts";
import type { LoadOrigin, PolledModel, ServingVersion } from "./serving-version.ts";
import { isWorking } from "./serving-version.ts";

/**
 * All models that were ever loaded. Loads and unloads of one model happen one after another, those of different models
 * side by side.
 */
export interface ModelLifecycle {
  /**
   * Loads the model, or loads it anew when it changed; does nothing when it is served and unchanged. Rejects with
   * Triton's texts, and the reason behind them, and then what was served before is still served.
   */
  load(modelName: string, poll: (signal: AbortSignal) => Promise<PolledModel>): Promise<void>;
  /** Resolves when no version takes requests any more; those accepted are still answered. Unknown models are fine. */
  unload(modelName: string): Promise<void>;
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

export interface ModelLifecycleOptions {
  readonly logger: Logger;
  readonly onChange: (modelName: string, state: NumberedState) => void;
}

interface ModelEntry {
  readonly versions: ModelVersions;
  /** Of the last load, as long as its result is served. */
  fingerprint: string | undefined;
}

export function createModelLifecycle({ logger, onChange }: ModelLifecycleOptions): ModelLifecycle {
  const entries = new Map<string, ModelEntry>();
  const queues = new Map<string, SerialQueue>();
  const stopping = new AbortController();

  async function load(modelName: string, poll: (signal: AbortSignal) => Promise<PolledModel>): Promise<void> {
    const { signal } = stopping;
    const polled = await pollOrExplain(modelName, async () => {
      const model = await poll(signal);
      const entry = entries.get(modelName);
      const isServed = entry !== undefined && entry.versions.ready().length > 0;
      const { fingerprint } = model;
      if (isServed && fingerprint !== undefined && fingerprint === entry.fingerprint) return undefined;
      return { fingerprint, plan: await model.plan(signal) };
    });
    if (polled === undefined) return;
    logger.log("info", `loading: ${polled.plan.versions.map((v) => `${modelName}:${String(v)}`).join(", ")}`);
    const entry = entryOf(modelName);
    entry.fingerprint = undefined;
    try {
      await entry.versions.load(polled.plan, signal);
    } catch (thrown) {
      logger.log("error", InferenceError.from(thrown).message.trimEnd());
      throw thrown;
    }
    entry.fingerprint = polled.fingerprint;
    logger.log("info", `successfully loaded '${modelName}'`);
  }

  /** Triton keeps the reason to its log; here it follows Triton's text. A failed poll makes the next load try again. */
  async function pollOrExplain<Result>(modelName: string, poll: () => Promise<Result>): Promise<Result> {
    try {
      stopping.signal.throwIfAborted();
      return await poll();
    } catch (thrown) {
      const entry = entries.get(modelName);
      if (entry !== undefined) entry.fingerprint = undefined;
      const cause = InferenceError.from(thrown);
      if (stopping.signal.aborted) throw cause;
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
    const entry: ModelEntry = { versions, fingerprint: undefined };
    entries.set(modelName, entry);
    return entry;
  }

  function unload(modelName: string): void {
    const entry = entries.get(modelName);
    if (entry === undefined) return;
    entry.fingerprint = undefined;
    entry.versions.unload();
  }

  async function inTurn<Result>(modelName: string, task: () => Promise<Result>): Promise<Result> {
    const queue = queues.get(modelName) ?? createSerialQueue();
    queues.set(modelName, queue);
    try {
      return await queue.run(task);
    } finally {
      if (queue.length === 0 && queues.get(modelName) === queue) queues.delete(modelName);
    }
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
    load: (modelName, poll) => inTurn(modelName, () => load(modelName, poll)),
    unload: (modelName) =>
      inTurn(modelName, () => {
        unload(modelName);
        return Promise.resolve();
      }),
    stop: async () => {
      stopping.abort(new InferenceError("CANCELLED", "the server is stopping"));
      await Promise.all(
        [...new Set([...queues.keys(), ...entries.keys()])].map((modelName) =>
          inTurn(modelName, async () => {
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
        const origin = entries.get(name)?.versions.origin;
        return origin === undefined ? [] : [origin];
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
