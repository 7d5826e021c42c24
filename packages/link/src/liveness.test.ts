import { memoryLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { LockManagerLike } from "./liveness.ts";
import { holdAlive, isAlive, whenDead } from "./liveness.ts";

const never = new AbortController().signal;

describe("liveness by locks", () => {
  it("tells every waiter when the holder lets go", async () => {
    const locks = memoryLocks();
    const letGo = await holdAlive(locks, "alive:1");
    const notices: string[] = [];
    const waiters = ["a", "b"].map(async (name) => {
      await whenDead(locks, "alive:1", never);
      notices.push(name);
    });
    await Promise.resolve();
    expect(await isAlive(locks, "alive:1")).toBe(true);
    expect(notices).toEqual([]);
    letGo();
    await Promise.all(waiters);
    expect(notices).toEqual(["a", "b"]);
    expect(await isAlive(locks, "alive:1")).toBe(false);
    expect(locks.heldNames()).toEqual([]);
  });

  it("tells at once when nobody holds the name", async () => {
    await expect(whenDead(memoryLocks(), "alive:1", never)).resolves.toBeUndefined();
  });

  it("does not mix names", async () => {
    const locks = memoryLocks();
    await holdAlive(locks, "alive:1");
    await expect(whenDead(locks, "alive:2", never)).resolves.toBeUndefined();
  });

  it("stops waiting when the signal fires", async () => {
    const locks = memoryLocks();
    const letGo = await holdAlive(locks, "alive:1");
    const controller = new AbortController();
    const waiting = whenDead(locks, "alive:1", controller.signal);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    letGo();
    await holdAlive(locks, "alive:1");
    expect(locks.heldNames()).toEqual(["alive:1"]);
  });

  it("passes a refusal of the platform on", async () => {
    const refusing: LockManagerLike = {
      request: () => Promise.reject(new TypeError("no locks here")),
      query: () => Promise.resolve({}),
    };
    await expect(holdAlive(refusing, "alive:1")).rejects.toThrow("no locks here");
    await expect(whenDead(refusing, "alive:1", never)).rejects.toThrow("no locks here");
    expect(await isAlive(refusing, "alive:1")).toBe(false);
  });
});
