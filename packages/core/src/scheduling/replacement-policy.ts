/** How a lost instance is brought back. */
interface ReplacementPolicy {
  /** Attempts without a completed execution in between before the instance is given up. */
  readonly maxAttempts: number;
  readonly firstDelayNs: number;
  readonly maxDelayNs: number;
  /** An instance that is lost while it does nothing, sooner than this after its creation, counts as a failed attempt. */
  readonly youngNs: number;
  /** After this a request to a given-up instance causes one more attempt. */
  readonly reviveAfterNs: number;
}

const MS = 1_000_000;

export const REPLACEMENT: ReplacementPolicy = {
  maxAttempts: 5,
  firstDelayNs: 100 * MS,
  maxDelayNs: 5_000 * MS,
  youngNs: 10_000 * MS,
  reviveAfterNs: 30_000 * MS,
};

/** `setbacks`: losses and failed attempts since the last completed execution. The first is made good at once. */
export function replacementDelayNs(setbacks: number): number {
  return setbacks <= 1 ? 0 : Math.min(REPLACEMENT.maxDelayNs, REPLACEMENT.firstDelayNs * 2 ** (setbacks - 2));
}
