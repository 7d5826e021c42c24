import { cancelled } from "./cancelled.ts";

/**
 * The part of `navigator.locks` that notices of death need. A worker that is terminated, a tab that is closed and a
 * service worker that is killed fire no event anywhere, but the locks they held are released.
 *
 * Timing (Chromium): 2-6 ms after `terminate()` of an idle worker, 50-80 ms after a tab is closed, up to 2 s for a worker
 * that was busy. So this is how to learn of a death that nobody announced; who kills a worker himself does not wait for it.
 */
export interface LockManagerLike {
  request(
    name: string,
    options: {
      readonly mode?: "exclusive" | "shared";
      /** Not together with `signal`. Calls `granted` with `null` where the lock is not free. */
      readonly ifAvailable?: boolean;
      readonly signal?: AbortSignal;
    },
    granted: (lock: unknown) => Promise<void>,
  ): Promise<unknown>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/**
 * Takes the lock `name`, which then says that this context lives. Resolves when it is held, and only then may the name be
 * told to others. The function it gives lets go early; otherwise the lock is held until the context dies.
 */
export async function holdAlive(locks: LockManagerLike, name: string): Promise<() => void> {
  return await new Promise<() => void>((held, refused) => {
    const untilReleased = (): Promise<void> =>
      new Promise((release) => {
        held(release);
      });
    locks.request(name, { mode: "exclusive" }, untilReleased).catch(refused);
  });
}

/**
 * Resolves when the holder of `name` is gone or has let go, at once where nobody holds it. Rejects with CANCELLED when
 * `signal` fires first. Any number of contexts may wait for the same name: they ask for it shared.
 */
export async function whenDead(locks: LockManagerLike, name: string, signal: AbortSignal): Promise<void> {
  try {
    await locks.request(name, { mode: "shared", signal }, () => Promise.resolve());
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    throw cancelled(thrown);
  }
}

/** Whether somebody holds `name` now. */
export async function isAlive(locks: LockManagerLike, name: string): Promise<boolean> {
  const { held = [] } = await locks.query();
  return held.some((lock) => lock.name === name);
}
