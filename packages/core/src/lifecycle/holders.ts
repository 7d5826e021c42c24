/** Who still uses something that is to be freed. */
export interface Holders {
  /** The result, to be called once, lets go. */
  readonly hold: () => () => void;
  /** Frees it once nobody holds it, which is at once where nobody does. Resolves when it is freed. Idempotent. */
  readonly retire: () => Promise<void>;
}

export function createHolders(free: () => Promise<void>): Holders {
  let count = 0;
  let onReleased: (() => void) | undefined;
  let retirement: Promise<void> | undefined;
  const released = (): Promise<void> =>
    new Promise((resolve) => {
      onReleased = resolve;
    });
  return {
    hold: () => {
      count += 1;
      return () => {
        count -= 1;
        if (count === 0) onReleased?.();
      };
    },
    retire: () => (retirement ??= count === 0 ? free() : released().then(free)),
  };
}
