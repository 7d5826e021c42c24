import type { ModelState } from "@naiad/protocol";
import { unreachable } from "@naiad/protocol";

/** State of one model version with the text that the repository index shows beside it (`""` for none). */
export interface VersionState {
  readonly state: ModelState;
  readonly reason: string;
}

export type VersionEvent =
  /** A load has begun. */
  | { readonly kind: "load" }
  /** The load succeeded. `note`: what is worth telling although it did, such as another device than asked for. */
  | { readonly kind: "loaded"; readonly note: string }
  /** It was given other instances while it was served. `note`: as above. */
  | { readonly kind: "updated"; readonly note: string }
  /** The load failed; `reason` is `<code name>: <message>`. */
  | { readonly kind: "failed"; readonly reason: string }
  /** Loaded, but thrown away because another version of the same load failed. */
  | { readonly kind: "discard" }
  /** No new requests from now on. `reason`: why, where nobody asked for it; another one may follow. */
  | { readonly kind: "unload"; readonly reason?: string }
  /** The last request was answered and everything is freed. */
  | { readonly kind: "drained" };

/** A version that nobody has tried to load. */
export const INITIAL_STATE: VersionState = { state: "UNKNOWN", reason: "" };

/** The reason that marks a version as gone on purpose: only with this text an unavailable version counts as healthy. */
export const UNLOADED = "unloaded";

/**
 * The state after an event, or `undefined` where the event makes no sense in this state. A version that is READY and
 * loaded anew stays READY until the new one takes its place: that is another record, with a state of its own.
 */
export function nextVersionState(current: VersionState, event: VersionEvent): VersionState | undefined {
  switch (event.kind) {
    case "load":
      return current.state === "UNKNOWN" || current.state === "UNAVAILABLE"
        ? { state: "LOADING", reason: "" }
        : undefined;
    case "loaded":
      return current.state === "LOADING" ? { state: "READY", reason: event.note } : undefined;
    case "updated":
      return current.state === "READY" ? { state: "READY", reason: event.note } : undefined;
    case "failed":
      return current.state === "LOADING" ? { state: "UNAVAILABLE", reason: event.reason } : undefined;
    case "discard":
      return current.state === "LOADING" ? { state: "UNLOADING", reason: "" } : undefined;
    case "unload":
      return current.state === "READY" || (current.state === "UNLOADING" && event.reason !== undefined)
        ? { state: "UNLOADING", reason: event.reason ?? "" }
        : undefined;
    case "drained":
      return current.state === "UNLOADING"
        ? { state: "UNAVAILABLE", reason: current.reason === "" ? UNLOADED : current.reason }
        : undefined;
    default:
      return unreachable(event);
  }
}

/** Whether a version in this state lets the server count as ready (`--strict-readiness`). */
export function isHealthy({ state, reason }: VersionState): boolean {
  return state === "READY" || (state === "UNAVAILABLE" && reason === UNLOADED);
}
