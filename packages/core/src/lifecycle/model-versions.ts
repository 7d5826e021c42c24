import { InferenceError, invariant, statusName } from "@naiad/protocol";
import type { Logger } from "../ports.ts";
import type { VersionEvent, VersionState } from "./model-state.ts";
import { INITIAL_STATE, nextVersionState } from "./model-state.ts";
import type { LoadOrigin, LoadPlan, ServingVersion, VersionUpdate } from "./serving-version.ts";
import { isWorking } from "./serving-version.ts";
import { withSignalFan } from "./signal-fan.ts";

export interface NumberedState extends VersionState {
  readonly version: number;
}

/** The versions of one model: which are served, which come and which go. */
export interface ModelVersions {
  /**
   * Loads all versions of the plan at once; a version of which only the instance groups have changed gets other instances
   * instead. When all succeed they take the place of whatever was served, in one step that no request can see between, and
   * the rest is retired. When one fails, the new ones are thrown away and what was served stays; rejects with Triton's text.
   * The caller sees to it that only one load runs at a time.
   */
  load(plan: LoadPlan, signal: AbortSignal): Promise<void>;
  /** Takes every ready version out of service at once; accepted requests are still answered. */
  unload(): void;
  /** Takes every ready version out of service, and shows of all that were to be loaded why they are not. */
  refuse(plan: LoadPlan, reason: InferenceError): void;
  /** Resolves when nothing that was taken out of service before this call is left. */
  drained(): Promise<void>;
  /** Ascending by version. */
  states(): readonly NumberedState[];
  /** What the ready versions were loaded with, already when the first of them is told of; `undefined` without any. */
  readonly origin: LoadOrigin | undefined;
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
  /** Of the load that it came from. */
  reuseKey: string | undefined;
}

/** What became of one version of a plan. */
type Attempt =
  | { readonly kind: "loaded"; readonly record: VersionRecord }
  | { readonly kind: "updated"; readonly record: VersionRecord; readonly update: VersionUpdate }
  | { readonly kind: "failed"; readonly version: number; readonly reason: string };

export function createModelVersions({ modelName, logger, onChange }: ModelVersionsOptions): ModelVersions {
  const shown = new Map<number, VersionRecord>();
  const retirements = new Set<Promise<void>>();
  let origin: LoadOrigin | undefined;

  async function load(plan: LoadPlan, signal: AbortSignal): Promise<void> {
    if (plan.versions.length === 0) {
      throw loadFailure(
        `at least one version must be available under the version policy of model '${modelName}'\n` +
          plan.missingVersionHint,
      );
    }
    const attempts = await withSignalFan(signal, (fan) =>
      Promise.all(
        plan.versions.map((version) => {
          const record = shown.get(version);
          const reuseKey = plan.reuseKey(version);
          const canUpdate =
            record?.state.state === "READY" && reuseKey !== undefined && record.reuseKey === reuseKey;
          if (canUpdate) return fan.run((own) => update(record, plan, own));
          const begun = begin(version, plan);
          return fan.run((own) => loadOne(begun, plan, own));
        }),
      ),
    );
    const failures = attempts.filter((attempt) => attempt.kind === "failed");
    if (failures.length === 0) {
      origin = plan.origin;
      replaceServed(attempts);
      return;
    }
    for (const attempt of attempts) discard(attempt);
    throw loadFailure(
      failures
        .map(({ version, reason }) => `version ${String(version)} is at UNAVAILABLE state: ${reason};\n`)
        .join(""),
    );
  }

  async function loadOne(record: VersionRecord, plan: LoadPlan, signal: AbortSignal): Promise<Attempt> {
    const { version } = record;
    try {
      const serving = await plan.load(version, signal);
      if (signal.aborted) {
        retire(serving, () => undefined);
        throw InferenceError.from(signal.reason);
      }
      record.serving = serving;
      return { kind: "loaded", record };
    } catch (thrown) {
      const reason = reasonOf(thrown);
      advance(record, { kind: "failed", reason });
      return { kind: "failed", version, reason };
    }
  }

  /** The version stays visible, and READY, whatever comes of it. */
  async function update(record: VersionRecord, plan: LoadPlan, signal: AbortSignal): Promise<Attempt> {
    const { serving, version } = record;
    invariant(serving !== undefined, "a ready version has instances");
    try {
      const prepared = await plan.update(serving, signal);
      if (!signal.aborted) return { kind: "updated", record, update: prepared };
      abandon(prepared, version);
      throw InferenceError.from(signal.reason);
    } catch (thrown) {
      return { kind: "failed", version, reason: reasonOf(thrown) };
    }
  }

  function loadFailure(reason: string): InferenceError {
    return new InferenceError("INVALID_ARG", `${loadFailurePrefix(modelName)}${reason}`);
  }

  /** A version that is being served stays visible until its successor is ready. */
  function begin(version: number, plan: LoadPlan): VersionRecord {
    const record: VersionRecord = {
      version,
      state: INITIAL_STATE,
      serving: undefined,
      reuseKey: plan.reuseKey(version),
    };
    if (shown.get(version)?.state.state !== "READY") shown.set(version, record);
    advance(record, { kind: "load" });
    return record;
  }

  function replaceServed(attempts: readonly Attempt[]): void {
    const kept = new Set(attempts.flatMap((attempt) => (attempt.kind === "failed" ? [] : [attempt.record])));
    const retired = [...shown.values()].filter(
      (record) => record.state.state === "READY" && !kept.has(record),
    );
    for (const attempt of attempts) {
      if (attempt.kind === "failed") continue;
      const { kind, record } = attempt;
      if (kind === "updated") record.serving = attempt.update.commit();
      else shown.set(record.version, record);
      advance(record, { kind, note: record.serving?.note ?? "" });
    }
    for (const record of retired) takeOut(record, { kind: "unload" });
  }

  function discard(attempt: Attempt): void {
    if (attempt.kind === "loaded") takeOut(attempt.record, { kind: "discard" });
    else if (attempt.kind === "updated") abandon(attempt.update, attempt.record.version);
  }

  function abandon(prepared: VersionUpdate, version: number): void {
    track(prepared.abandon(), version);
  }

  function takeOut(
    record: VersionRecord,
    event: Extract<VersionEvent, { readonly kind: "unload" | "discard" }>,
  ): void {
    const { serving } = record;
    invariant(serving !== undefined, "a version without instances cannot be taken out of service");
    record.serving = undefined;
    advance(record, event);
    retire(serving, () => {
      advance(record, { kind: "drained" });
    });
  }

  function retire(serving: ServingVersion, onDrained: () => void): void {
    track(serving.retire(), serving.version, onDrained);
  }

  /** Of something that is to be freed. */
  function track(freed: Promise<void>, version: number, onFreed: () => void = () => undefined): void {
    const retirement = freed.then(
      () => {
        retirements.delete(retirement);
        onFreed();
      },
      (thrown: unknown) => {
        retirements.delete(retirement);
        const { message } = InferenceError.from(thrown);
        logger.log("error", `failed to free '${modelName}' version ${String(version)}: ${message}`);
        onFreed();
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

  /** Asked for each request that names no version. */
  function latestReady(): ServingVersion | undefined {
    let latest: VersionRecord | undefined;
    for (const record of shown.values()) {
      const isLater = latest === undefined || record.version > latest.version;
      if (isLater && record.serving !== undefined && record.state.state === "READY") latest = record;
    }
    return latest?.serving;
  }

  return {
    load,
    unload: () => {
      for (const record of ascending())
        if (record.state.state === "READY") takeOut(record, { kind: "unload" });
    },
    refuse: (plan, error) => {
      const reason = reasonOf(error);
      for (const record of ascending()) {
        if (record.state.state !== "READY") continue;
        takeOut(
          record,
          plan.versions.includes(record.version) ? { kind: "unload", reason } : { kind: "unload" },
        );
      }
      for (const version of plan.versions) {
        const record = shown.get(version);
        if (record?.state.reason === reason) continue;
        if (record?.state.state === "UNLOADING") advance(record, { kind: "unload", reason });
        else advance(begin(version, plan), { kind: "failed", reason });
      }
    },
    drained: async () => {
      await Promise.all(retirements);
    },
    states: () => ascending().map(({ version, state }) => ({ version, ...state })),
    ready,
    get origin() {
      return ready().length > 0 ? origin : undefined;
    },
    find: (version) => {
      if (version === undefined) {
        const latest = latestReady();
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

/** What Triton's text of a load that failed begins with. */
export function loadFailurePrefix(modelName: string): string {
  return `load failed for model '${modelName}': `;
}

function reasonOf(thrown: unknown): string {
  const { code, message } = InferenceError.from(thrown);
  return `${statusName(code)}: ${message}`;
}
