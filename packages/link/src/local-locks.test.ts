import { describe, expect, it } from "vitest";
import { createLocalLocks } from "./local-locks.ts";

const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 0);
  });

function scene() {
  const locks = createLocalLocks();
  const log: string[] = [];
  const lets = new Map<string, () => void>();
  const hold = (who: string, options: Parameters<typeof locks.request>[1] = {}): Promise<unknown> =>
    locks.request("name", options, (lock) => {
      log.push(lock === null ? `${who} refused` : who);
      return lock === null ? Promise.resolve() : new Promise<void>((resolve) => lets.set(who, resolve));
    });
  const letGo = async (who: string): Promise<void> => {
    lets.get(who)?.();
    await settle();
  };
  return { locks, log, hold, letGo };
}

describe("local locks", () => {
  it("are granted in the order of their requests, shared ones together", async () => {
    const { hold, letGo, locks, log } = scene();
    void hold("a");
    void hold("b", { mode: "shared" });
    void hold("c", { mode: "shared" });
    void hold("d");
    expect(log).toEqual(["a"]);
    await letGo("a");
    expect(log).toEqual(["a", "b", "c"]);
    await letGo("b");
    expect(log).toEqual(["a", "b", "c"]);
    await letGo("c");
    expect(log).toEqual(["a", "b", "c", "d"]);
    expect(await locks.query()).toEqual({ held: [{ name: "name" }] });
    await letGo("d");
    expect(locks.heldNames()).toEqual([]);
  });

  it("are refused at once to who does not want to wait", async () => {
    const { hold, letGo, log } = scene();
    void hold("a", { ifAvailable: true });
    await hold("b", { ifAvailable: true });
    await letGo("a");
    void hold("c", { ifAvailable: true });
    expect(log).toEqual(["a", "b refused", "c"]);
  });

  it("let the next one through when a wait is called off, and are let go by who fails", async () => {
    const { hold, letGo, locks, log } = scene();
    const failed = locks.request("name", { mode: "shared" }, () => Promise.reject(new Error("mine")));
    await expect(failed).rejects.toThrow("mine");
    void hold("a", { mode: "shared" });
    const waiting = new AbortController();
    const gone = hold("b", { signal: waiting.signal });
    void hold("c", { mode: "shared" });
    expect(log).toEqual(["a"]);
    waiting.abort();
    await expect(gone).rejects.toThrow("aborted");
    expect(log).toEqual(["a", "c"]);
    await expect(hold("d", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    await Promise.all([letGo("a"), letGo("c")]);
    expect(locks.heldNames()).toEqual([]);
  });
});
