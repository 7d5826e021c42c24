import { createLocalLocks, holdAlive, isAlive, whenDead } from "@naiad/link";
import { realEndpoints } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { connectLocks, serveLocks } from "./thread-locks.ts";

const NEVER = new AbortController().signal;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function thread(keeper = createLocalLocks()) {
  const { left, right } = realEndpoints();
  const dies = serveLocks(left, keeper);
  ends.push(dies);
  return { keeper, dies, locks: connectLocks(right) };
}

describe("locks of a thread", () => {
  it("tell others that it lives, and then that it does not", async () => {
    const { dies, keeper, locks } = thread();
    await holdAlive(locks, "alive");
    expect(await isAlive(keeper, "alive")).toBe(true);
    expect(await isAlive(locks, "alive")).toBe(true);
    const other = thread(keeper);
    const told = Promise.all([keeper, other.locks].map((each) => whenDead(each, "alive", NEVER)));
    dies();
    await told;
    expect(await isAlive(other.locks, "alive")).toBe(false);
  });

  it("can be let go early", async () => {
    const { keeper, locks } = thread();
    const letGo = await holdAlive(locks, "alive");
    letGo();
    await whenDead(keeper, "alive", NEVER);
    await expect.poll(() => keeper.heldNames()).toEqual([]);
  });

  it("are not waited for any more after an abort, or by a thread that has died", async () => {
    const { keeper, locks } = thread();
    const waiting = thread(keeper);
    const letGo = await holdAlive(locks, "a");
    const calledOff = new AbortController();
    const wait = whenDead(waiting.locks, "a", calledOff.signal);
    calledOff.abort();
    await expect(wait).rejects.toMatchObject({ code: "CANCELLED" });
    const doomed = holdAlive(waiting.locks, "a");
    doomed.catch(() => undefined);
    await isAlive(waiting.locks, "a");
    waiting.dies();
    await expect(doomed).rejects.toThrow("the thread has ended");
    letGo();
    await expect.poll(() => keeper.heldNames()).toEqual([]);
  });

  it("are refused at once to who does not want to wait", async () => {
    const { keeper, locks } = thread();
    const ask = async (): Promise<unknown> => {
      let given: unknown;
      await locks.request("a", { ifAvailable: true }, (lock) => {
        given = lock;
        return Promise.resolve();
      });
      return given;
    };
    expect(await ask()).toEqual({ name: "a", mode: "exclusive" });
    await holdAlive(keeper, "a");
    expect(await ask()).toBeNull();
  });
});
