import { describe, expect, it } from "vitest";
import type { InstancePlacement } from "../ports.ts";
import type { RateLimiter, Turns } from "./rate-limiter.ts";
import { createRateLimiter } from "./rate-limiter.ts";

interface Member {
  readonly turns: Turns;
  /** Executions that it asks for. */
  work: number;
  executing: boolean;
}

/** Members of one limiter, each with `count` units of resource `r`, and the order in which they executed. */
function setUp(given: Parameters<typeof createRateLimiter>[0] = []) {
  const limiter: RateLimiter = createRateLimiter(given);
  const order: string[] = [];

  function join(name: string, { count = 1, priority = 1, work = 0 } = {}): Member {
    const member: Member = {
      work,
      executing: false,
      turns: limiter.join(placement(name, count, priority), {
        wants: () => !member.executing && member.work > 0,
        take: () => {
          if (member.work === 0) return false;
          member.work -= 1;
          member.executing = true;
          order.push(name);
          return true;
        },
      }),
    };
    return member;
  }

  function end(member: Member): void {
    member.executing = false;
    member.turns.release();
  }

  return { limiter, order, join, end };
}

function placement(instanceName: string, count: number, priority = 1): InstancePlacement {
  return {
    instanceName,
    workerKey: instanceName,
    device: { kind: "gpu", adapter: 0 },
    rateLimit: { priority, resources: [{ name: "r", global: false, count }] },
  };
}

describe("the rate limiter", () => {
  it("gives the next turn when units come back, and counts executions times priority", () => {
    const { limiter, order, join, end } = setUp();
    const fast = join("fast", { work: 20 });
    const members = [fast, join("slow", { work: 20, priority: 2 })];
    limiter.advance();
    for (let turn = 0; turn < 11; turn += 1) end(members.find(({ executing }) => executing) ?? fast);
    expect(order.join(" ")).toBe("fast slow fast slow fast fast slow fast fast slow fast fast");
  });

  it("takes a turn back that finds no work, and asks the next", () => {
    const { limiter, order, join } = setUp();
    const turns = limiter.join(placement("hesitant", 1), { wants: () => true, take: () => false });
    join("willing", { work: 1 });
    limiter.advance();
    expect(order).toEqual(["willing"]);
    expect(() => {
      turns.release();
    }).toThrow("only a turn that was taken ends");
  });

  it("gives a turn back when taking work throws", () => {
    const { limiter, order, join } = setUp();
    const turns = limiter.join(placement("broken", 1), {
      wants: () => true,
      take: () => {
        throw new Error("broken");
      },
    });
    const other = join("other");
    expect(() => {
      limiter.advance();
    }).toThrow("broken");
    turns.leave();
    other.work = 1;
    limiter.advance();
    expect(order).toEqual(["other"]);
  });

  it("does not let those that need few units overtake one that needs many for ever", () => {
    const { limiter, order, join, end } = setUp();
    const small = [join("s1", { work: 50 }), join("s2", { work: 50 })];
    limiter.advance();
    const large = join("large", { count: 2, work: 1 });
    small.forEach(end);
    limiter.advance();
    for (const member of [...small, ...small]) if (member.executing) end(member);
    expect(order.slice(0, 5)).toContain("large");
    expect(large.executing).toBe(true);
  });

  it("lets a member that comes late, or slept, begin where the others are", () => {
    const { limiter, order, join, end } = setUp();
    const old = join("old", { work: 1000 });
    const sleeper = join("sleeper", { work: 1 });
    limiter.advance();
    for (let turn = 0; turn < 100; turn += 1) end(old.executing ? old : sleeper);
    const late = join("late", { work: 1000 });
    sleeper.work = 1000;
    const before = order.length;
    for (let turn = 0; turn < 30; turn += 1)
      end([old, late, sleeper].find(({ executing }) => executing) ?? old);
    const counts = ["old", "late", "sleeper"].map(
      (name) => order.slice(before).filter((entry) => entry === name).length,
    );
    expect(counts).toEqual([10, 10, 10]);
  });

  it("resizes the pools when members come and go, and waits for the units of one that left while it executed", () => {
    const { limiter, order, join, end } = setUp();
    const big = join("big", { count: 2, work: 1 });
    const rest = [join("a", { work: 3 }), join("b", { work: 3 })];
    limiter.advance();
    big.turns.leave();
    big.turns.leave();
    limiter.advance();
    expect(order).toEqual(["big"]);
    end(big);
    expect(order).toEqual(["big", "a"]);
    expect(rest.map(({ executing }) => executing)).toEqual([true, false]);
  });

  it("refuses who could never have a turn, and then has not changed", () => {
    const { limiter, order, join } = setUp([{ name: "r", count: 2 }]);
    const text = 'Resource count for "r" is limited to 2';
    expect(() => {
      limiter.check([placement("m", 3)]);
    }).toThrow(text);
    expect(() => join("m", { count: 3 })).toThrow(text);
    limiter.check([placement("m", 2)]);
    join("m", { count: 2, work: 1 });
    limiter.advance();
    expect(order).toEqual(["m"]);
  });

  it("says how many instances could start, behind those that go first", () => {
    const { limiter, join } = setUp([{ name: "r", count: 3 }]);
    const mine = [join("a"), join("b"), join("c")];
    const turns = mine.map((member) => member.turns);
    expect(limiter.countReady(turns)).toBe(3);
    const other = join("other", { count: 2, work: 1 });
    expect(limiter.countReady(turns)).toBe(3);
    limiter.advance();
    expect(other.executing).toBe(true);
    expect(limiter.countReady(turns)).toBe(1);
    expect(limiter.countReady([])).toBe(0);
  });
});
