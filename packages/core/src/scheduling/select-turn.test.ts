import { describe, expect, it } from "vitest";
import type { PoolNeed } from "./rate-limit-pools.ts";
import { rankOnReturn, selectTurn } from "./select-turn.ts";

interface Waiting {
  readonly name: string;
  readonly rank: number;
  readonly needs: readonly PoolNeed[];
}

function waiting(name: string, rank: number, needs: Readonly<Record<string, number>>): Waiting {
  return {
    name,
    rank,
    needs: Object.entries(needs).map(([key, count]) => ({ pool: { key, resource: key, device: 0 }, count })),
  };
}

const FREE = new Map([
  ["a", 2],
  ["b", 1],
]);

describe("selectTurn", () => {
  it.each([
    ["nobody", [], undefined],
    ["the smallest rank", [waiting("x", 3, { a: 1 }), waiting("y", 2, { a: 1 })], "y"],
    ["the one in front among equals", [waiting("x", 2, { a: 1 }), waiting("y", 2, { a: 1 })], "x"],
    ["one that needs nothing", [waiting("x", 9, {})], "x"],
    ["one that needs all there is", [waiting("x", 0, { a: 2, b: 1 })], "x"],
    ["nobody where units are missing", [waiting("x", 0, { a: 3 })], undefined],
    ["nobody where a pool is missing", [waiting("x", 0, { c: 1 })], undefined],
    ["one behind that needs other units", [waiting("x", 0, { a: 3 }), waiting("y", 1, { b: 1 })], "y"],
    [
      "nobody behind one that saves the units up",
      [waiting("x", 0, { a: 3 }), waiting("y", 1, { a: 1 })],
      undefined,
    ],
    [
      "nobody behind two that save the units up",
      [waiting("x", 0, { a: 1, b: 2 }), waiting("y", 1, { a: 2 }), waiting("z", 2, { a: 1 })],
      undefined,
    ],
    [
      "one behind that takes what is left over",
      [waiting("x", 0, { a: 1, b: 2 }), waiting("z", 2, { a: 1 })],
      "z",
    ],
  ])("%s", (_name, contenders, chosen) => {
    expect(selectTurn(contenders, FREE)?.name).toBe(chosen);
  });
});

describe("rankOnReturn", () => {
  const levels = new Map([
    ["a", 100],
    ["b", 10],
  ]);

  it("gives no credit for the time away", () => {
    expect(rankOnReturn(waiting("x", 0, { a: 1 }), levels)).toBe(100);
  });

  it("keeps what the instance has had itself", () => {
    expect(rankOnReturn(waiting("x", 102, { a: 1 }), levels)).toBe(102);
  });

  it("is that of the pool where least has happened", () => {
    expect(rankOnReturn(waiting("x", 0, { a: 1, b: 1 }), levels)).toBe(10);
    expect(rankOnReturn(waiting("x", 0, { a: 1, c: 1 }), levels)).toBe(0);
  });

  it("does not matter to one that competes with nobody", () => {
    expect(rankOnReturn(waiting("x", 5, {}), levels)).toBe(5);
  });
});
