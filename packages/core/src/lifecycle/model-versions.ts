import { InferenceError, invariant, statusName } from "@naiad/protocol";
import type { Logger } from "../ports.ts";
import type { VersionEvent, VersionState } from "./model-state.ts";
import { INITIAL_STATE, nextVersionState } from "./model-state.ts";
import type { LoadPlan, ServingVersion } from "./serving-version.ts";
import { isWorking } from "./serving-version.ts";

export interface NumberedState extends VersionState {
  readonly version: number;
}

/** The versions of one model: which are served, which come and which go. */
export interface ModelVersions {
  /**
   * Loads all versions of the plan at once. When all succeed they take the place of whatever was served, in one step
   * that no request can see between, and the rest is retired. When one fails, the new ones are thrown away and what was
   * served stays; rejects with Triton's text. The caller sees to it that only one load runs at a time.
   */
  load(plan: LoadPlan, signal: AbortSignal): Promise<void>;
  /** Takes every ready version out of service at once; accepted requests are still answered. */
  unload(): void;
  /** Resolves when nothing that was taken out of service before this call is left. */
  drained(): Promise<void>;
  /** Ascending by version. */
  states(): readonly NumberedState[];
  /** The ready versions, ascending. */
  ready(): readonly ServingVersion[];
  /** `undefined` asks for the highest ready version. Throws Triton's texts, for the one who adds `Request for unknown model: `. */
  find(version: number | undefined): ServingVersion;
  /** Whether `find` would give something that can answer. Throws only for a version that was never tried. */
  isReady(version: number | undefined): boolean;
}

export interface ModelVersionsOptions {
  readonly modelName: string;
  readonly logger: Logger;
  /** Called after each change of what `states` shows. */
  readonly onChange: (state: NumberedState) => void;
}

interface VersionRecord {
  readonly version: number;
  state: VersionState;
  serving: ServingVersion | undefined;
}

export function createModelVersions({ modelName, logger, onChange }: ModelVersionsOptions): ModelVersions {
  const shown = new Map<number, VersionRecord>();
  const retirements = new Set<Promise<void>>();

  async function load(plan: LoadPlan, signal: AbortSignal): Promise<void> {
    if (plan.versions.length === 0) {
      throw loadFailure(
        `at least one version must be available under the version policy of model '${modelName}'`,
      );
    }
    const records = plan.versions.map(begin);
    const results = await Promise.allSettled(plan.versions.map((version) => plan.load(version, signal)));
    const failures: string[] = [];
    records.forEach((record, i) => {
      const result = results[i];
      if (result?.status === "fulfilled" && !signal.aborted) {
        record.serving = result.value;
        return;
      }
      const error = InferenceError.from(result?.status === "rejected" ? result.reason : signal.reason);
      const reason = `${statusName(error.code)}: ${error.message}`;
      failures.push(`version ${String(record.version)} is at UNAVAILABLE state: ${reason};\n`);
      advance(record, { kind: "failed", reason });
      if (result?.status === "fulfilled") retire(result.value, () => undefined);
    });
    if (failures.length === 0) {
      replaceServed(records);
      return;
    }
    for (const record of records) discard(record);
    throw loadFailure(failures.join(""));
  }

  function loadFailure(reason: string): InferenceError {
    return new InferenceError("INVALID_ARG", `load failed for model '${modelName}': ${reason}`);
  }

  /** A version that is being served stays visible until its successor is ready. */
  function begin(version: number): VersionRecord {
    const record: VersionRecord = { version, state: INITIAL_STATE, serving: undefined };
    if (shown.get(version)?.state.state !== "READY") shown.set(version, record);
    advance(record, { kind: "load" });
    return record;
  }

  function replaceServed(records: readonly VersionRecord[]): void {
    const retired = [...shown.values()].filter(
      (record) => record.state.state === "READY" && !records.includes(record),
    );
    for (const record of records) {
      shown.set(record.version, record);
      advance(record, { kind: "loaded", note: record.serving?.note ?? "" });
    }
    for (const record of retired) takeOut(record, "unload");
  }

  function discard(record: VersionRecord): void {
    if (record.serving !== undefined) takeOut(record, "discard");
  }

  function takeOut(record: VersionRecord, kind: "unload" | "discard"): void {
    const { serving } = record;
    invariant(serving !== undefined, "a version without instances cannot be taken out of service");
    record.serving = undefined;
    advance(record, { kind });
    retire(serving, () => {
      advance(record, { kind: "drained" });
    });
  }

  function retire(serving: ServingVersion, onDrained: () => void): void {
    const retirement = serving.retire().then(
      () => {
        retirements.delete(retirement);
        onDrained();
      },
      (thrown: unknown) => {
        retirements.delete(retirement);
        const { message } = InferenceError.from(thrown);
        logger.log("error", `failed to free '${modelName}' version ${String(serving.version)}: ${message}`);
        onDrained();
      },
    );
    retirements.add(retirement);
  }

  function advance(record: VersionRecord, event: VersionEvent): void {
    const next = nextVersionState(record.state, event);
    invariant(next !== undefined, `event ${event.kind} in state ${record.state.state}`);
    record.state = next;
    if (shown.get(record.version) === record) onChange({ version: record.version, ...next });
  }

  function recordOf(version: number): VersionRecord {
    const record = shown.get(version);
    if (record !== undefined) return record;
    throw new InferenceError("NOT_FOUND", `'${modelName}' version ${String(version)} is not found`);
  }

  function ascending(): readonly VersionRecord[] {
    return [...shown.values()].sort((a, b) => a.version - b.version);
  }

  function ready(): readonly ServingVersion[] {
    return ascending().flatMap(({ serving, state }) =>
      serving !== undefined && state.state === "READY" ? [serving] : [],
    );
  }

  return {
    load,
    unload: () => {
      for (const record of ascending()) if (record.state.state === "READY") takeOut(record, "unload");
    },
    drained: async () => {
      await Promise.all(retirements);
    },
    states: () => ascending().map(({ version, state }) => ({ version, ...state })),
    ready,
    find: (version) => {
      if (version === undefined) {
        const latest = ready().at(-1);
        if (latest !== undefined) return latest;
        throw new InferenceError("NOT_FOUND", `'${modelName}' has no available versions`);
      }
      const record = recordOf(version);
      if (record.serving !== undefined && record.state.state === "READY") return record.serving;
      throw new InferenceError(
        "UNAVAILABLE",
        `'${modelName}' version ${String(version)} is not at ready state`,
      );
    },
    isReady: (version) => {
      if (version === undefined) return ready().some(isWorking);
      const { serving, state } = recordOf(version);
      return state.state === "READY" && serving !== undefined && isWorking(serving);
    },
  };
}
