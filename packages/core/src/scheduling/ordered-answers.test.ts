import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OrderedAnswers } from "./ordered-answers.ts";

interface Request {
  readonly number: number;
}

function line(count: number) {
  const answers = new OrderedAnswers<Request>();
  const requests = Array.from({ length: count }, (_, number): Request => ({ number }));
  const delivered: number[] = [];
  for (const request of requests) answers.expect(request);
  const at = (number: number): Request => requests[number] ?? { number };
  return {
    answers,
    delivered,
    at,
    settle: (number: number) => {
      answers.settle(at(number), () => delivered.push(number));
    },
    giveUp: (number: number) => {
      answers.giveUp(at(number));
    },
  };
}

describe("OrderedAnswers", () => {
  it("holds an answer back until those before it are there", () => {
    const { settle, delivered } = line(3);
    settle(2);
    settle(1);
    expect(delivered).toEqual([]);
    settle(0);
    expect(delivered).toEqual([0, 1, 2]);
  });

  it("does not wait for one that gave up its turn, and does not deliver it", () => {
    const { settle, giveUp, delivered } = line(4);
    settle(1);
    settle(3);
    giveUp(1);
    giveUp(0);
    expect(delivered).toEqual([]);
    giveUp(2);
    expect(delivered).toEqual([3]);
  });

  it("lets a delivery settle and give up others", () => {
    const { answers, at, settle, giveUp, delivered } = line(4);
    answers.settle(at(0), () => {
      delivered.push(0);
      settle(2);
      giveUp(1);
    });
    settle(3);
    expect(delivered).toEqual([0, 2, 3]);
  });

  it("takes the later of two answers of one that waits, and lets one that nobody expected stand at the end", () => {
    const { answers, at, settle, delivered } = line(2);
    answers.settle(at(1), () => delivered.push(-1));
    settle(1);
    settle(2);
    answers.expect(at(1));
    settle(0);
    expect(delivered).toEqual([0, 1, 2]);
  });

  it("delivers what is settled and not given up, in order, whatever comes first", () => {
    const step = fc.record({ number: fc.nat(9), what: fc.constantFrom("settle", "giveUp") });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { settle, giveUp, delivered } = line(10);
        const decided = new Map<number, string>();
        for (const { number, what } of steps) {
          // Of one request only one is told, as its scheduler does.
          if (decided.has(number)) continue;
          decided.set(number, what);
          if (what === "settle") settle(number);
          else giveUp(number);
          const undecided = Array.from({ length: 10 }, (_, at) => at).find((at) => !decided.has(at)) ?? 10;
          const expected = [...decided].filter(([at, kind]) => at < undecided && kind === "settle");
          expect(delivered).toEqual(expected.map(([at]) => at).sort((a, b) => a - b));
        }
      }),
      { seed: 7 },
    );
  });
});
