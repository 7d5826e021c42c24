/** How long a gateway looks for the host. */
export interface SearchPatience {
  /** While a page says that its host is coming. */
  readonly startingMs: number;
  /** While no page says anything: it may be one that has not run its scripts yet, or none that knows Naiad. */
  readonly silentMs: number;
  /** After a page said that its start has failed: another one may have a host. */
  readonly failedMs: number;
  /** Between two questions: pages that came later must be asked as well. */
  readonly askEveryMs: number;
}

export const DEFAULT_PATIENCE: SearchPatience = {
  startingMs: 10_000,
  silentMs: 3_000,
  failedMs: 200,
  askEveryMs: 500,
};

export interface SearchState {
  readonly elapsedMs: number;
  /** Since a page last said that its host is coming; absent when none has. */
  readonly sinceSignMs?: number;
  /** Since a page first said that its start has failed; absent when none has. */
  readonly sinceFailureMs?: number;
}

export type SearchStep = { readonly kind: "ask"; readonly nextMs: number } | { readonly kind: "give-up" };

/** A page that has stopped saying that its host is coming was closed, or has stopped its server, and counts no longer. */
export function isComing(
  sinceSignMs: number | undefined,
  { silentMs }: Pick<SearchPatience, "silentMs">,
): boolean {
  return sinceSignMs !== undefined && sinceSignMs <= silentMs;
}

/** What to do when a question has not been answered. */
export function nextSearchStep(
  { elapsedMs, sinceSignMs, sinceFailureMs }: SearchState,
  patience: SearchPatience,
): SearchStep {
  const remainingMs = isComing(sinceSignMs, patience)
    ? patience.startingMs - elapsedMs
    : Math.min(
        patience.silentMs - elapsedMs,
        sinceFailureMs === undefined ? Infinity : patience.failedMs - sinceFailureMs,
      );
  if (remainingMs <= 0) return { kind: "give-up" };
  return { kind: "ask", nextMs: Math.min(patience.askEveryMs, remainingMs) };
}
