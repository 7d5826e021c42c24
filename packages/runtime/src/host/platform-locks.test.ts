import { holdAlive, whenDead } from "@naiad/link";
import { memoryLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { hasLocks, platformLocks } from "./platform-locks.ts";

describe("platformLocks", () => {
  it("gives the platform's own", () => {
    const locks = memoryLocks();
    expect(platformLocks({ locks })).toBe(locks);
    expect(hasLocks(locks)).toBe(true);
  });

  it("without any lets everybody live and nobody be dead", async () => {
    const locks = platformLocks({});
    expect(hasLocks(locks)).toBe(false);
    const letGo = await holdAlive(locks, "a");
    letGo();
    const abort = new AbortController();
    const dead = whenDead(locks, "a", abort.signal);
    expect(await Promise.race([dead, Promise.resolve("alive")])).toBe("alive");
    abort.abort();
    await expect(dead).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await locks.query()).toEqual({ held: [] });
  });
});
