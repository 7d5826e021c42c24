import type { PolledModel } from "./serving-version.ts";

export type Poll = (signal: AbortSignal) => Promise<PolledModel>;

/**
 * Loads that belong together: what one of them has loaded, or tried to, is not tried again for another. Made by
 * `createLoadGroup`; the lifecycle alone writes in it.
 */
export interface LoadGroup {
  readonly pollComposing: PollComposing | undefined;
  /** By model, from the moment it was begun. */
  readonly attempts: Map<string, Promise<void>>;
  /** Models that somebody wants by name, and not an ensemble alone. */
  readonly askedFor: Set<string>;
  /** Of ensembles that follow their models, to be waited for at the end. */
  readonly followers: Promise<void>[];
}

/** Where a model is found that an ensemble needs; `absent`: it is known to stand in no repository. */
export type PollComposing = (modelName: string) => Poll | "absent";

/** Without `pollComposing` no model is loaded for an ensemble: what it needs is there or is not. */
export function createLoadGroup(pollComposing?: PollComposing): LoadGroup {
  return { pollComposing, attempts: new Map(), askedFor: new Set(), followers: [] };
}
