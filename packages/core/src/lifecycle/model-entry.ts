import { InferenceError } from "@naiad/protocol";
import type { ModelVersions } from "./model-versions.ts";
import type { Upstream } from "./dependency-graph.ts";
import type { LoadPlan, ServingVersion } from "./serving-version.ts";

/** What the lifecycle knows of one model. */
export interface ModelEntry {
  readonly versions: ModelVersions;
  /** Of the last load, as long as its result is served. */
  fingerprint: string | undefined;
  /** It was polled and not unloaded since: an ensemble that needs it knows it. */
  isKnown: boolean;
  /** By name, not for an ensemble alone. */
  isAskedFor: boolean;
  /** Why the last load failed. */
  failure: string | undefined;
  /** Of an ensemble that was polled and not unloaded since. */
  ensemble: EnsembleEntry | undefined;
}

export interface EnsembleEntry {
  /** With which it is loaded again when its models change. */
  readonly plan: EnsemblePlanned;
  /** Of the poll that gave the plan. */
  readonly fingerprint: string | undefined;
  /** Why some of its models could not even be polled. */
  failures: ReadonlyMap<string, InferenceError>;
  /** The versions of its models with which what is served was loaded; `undefined`: nothing is. */
  loadedWith: readonly ServingVersion[] | undefined;
  /** Why it cannot be served for its models. */
  fault: string | undefined;
  /** Errors that the log has since it was served last: it is tried again with every load of one of its models. */
  readonly told: Set<string>;
}

export type EnsemblePlanned = LoadPlan & Required<Pick<LoadPlan, "ensemble">>;

export function isEnsemblePlan(plan: LoadPlan): plan is EnsemblePlanned {
  return plan.ensemble !== undefined;
}

/** Whether the log is to have the error of a load. Remembers it for an ensemble. */
export function isNews({ ensemble }: ModelEntry, message: string): boolean {
  if (ensemble === undefined) return true;
  if (ensemble.told.has(message)) return false;
  ensemble.told.add(message);
  return true;
}

/** How a model stands for an ensemble that needs it. */
export function upstreamOf(
  entry: ModelEntry | undefined,
  /** Why it could not be loaded just now. */
  failure: InferenceError | undefined,
): Upstream {
  if (entry?.isKnown !== true) {
    if (failure === undefined) return { kind: "missing" };
    return { kind: "missing", reason: InferenceError.from(failure.cause ?? failure).message };
  }
  if (entry.ensemble?.fault !== undefined) return { kind: "invalid", reason: entry.ensemble.fault };
  const ready = entry.versions.ready();
  if (ready.length > 0) return { kind: "ready", versions: ready.map(({ version }) => version) };
  return { kind: "down", ...(entry.failure !== undefined && { reason: entry.failure }) };
}
