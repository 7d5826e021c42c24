const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A browser that has served for so long has not failed at once. */
const STEADY_MS = 60_000;

/** Failures in a row, counted by `afterFailure`. */
export interface FailureCount {
  readonly failures: number;
}

export const NO_FAILURES: FailureCount = { failures: 0 };

/** How long to wait before the browser is started anew, after one that lived for `livedMs`. Each failure at once doubles it. */
export function afterFailure(
  { failures }: FailureCount,
  livedMs: number,
): FailureCount & { readonly delayMs: number } {
  const before = livedMs >= STEADY_MS ? 0 : failures;
  return { failures: before + 1, delayMs: Math.min(LONGEST_MS, FIRST_MS * 2 ** before) };
}
