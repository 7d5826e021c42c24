import { memoryLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { lockStore } from "./lock-store.ts";

const { signal } = new AbortController();
const nothing = (): Promise<void> => Promise.resolve();

describe("lockStore", () => {
  it("runs a task only where nobody holds the lock, in this tab or another", async () => {
    const locks = memoryLocks();
    const [one, two] = [lockStore(locks, "naiad:/"), lockStore(locks, "naiad:/")];
    const release = await one.hold("f", signal);
    const releaseToo = await two.hold("f", signal);
    let runs = 0;
    const run = async (): Promise<void> => {
      runs += 1;
      await nothing();
    };
    expect(await one.whileFree("f", run)).toBe(false);
    release();
    expect(await two.whileFree("f", run)).toBe(false);
    releaseToo();
    // A lock is free a moment after it was let go.
    await expect.poll(() => one.whileFree("f", run)).toBe(true);
    expect(runs).toBe(1);
  });

  it("knows nothing of the stores of other base paths", async () => {
    const locks = memoryLocks();
    await lockStore(locks, "naiad:/a/").hold("f", signal);
    expect(await lockStore(locks, "naiad:/b/").whileFree("f", nothing)).toBe(true);
  });

  it("holds nothing while a task runs, and gives the wait up with the signal's reason", async () => {
    const locks = memoryLocks();
    const store = lockStore(locks, "naiad:/");
    let end = (): void => undefined;
    const running = store.whileFree("f", () => new Promise((resolve) => (end = resolve)));
    const abort = new AbortController();
    const given = store.hold("f", abort.signal);
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(given).rejects.toBe(reason);
    const held = store.hold("f", signal);
    end();
    expect(await running).toBe(true);
    (await held)();
  });

  it("hands on what the task throws", async () => {
    const store = lockStore(memoryLocks(), "naiad:/");
    await expect(store.whileFree("f", () => Promise.reject(new Error("disk")))).rejects.toThrow("disk");
    expect(await store.whileFree("f", nothing)).toBe(true);
  });
});
