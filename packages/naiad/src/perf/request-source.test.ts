import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PerfDataSet } from "./data-set.ts";
import { seededRandom } from "./random.ts";
import type { RequestSlot, SequenceOptions } from "./request-source.ts";
import { createRequestSource } from "./request-source.ts";

function source(
  streams: readonly number[],
  { isSequence = true, ...sequences }: Partial<SequenceOptions> & { readonly isSequence?: boolean } = {},
) {
  const data: PerfDataSet = {
    streams: streams.map((length, stream) =>
      Array.from({ length }, (_, step) => ({ inputs: [], parameters: { at: `${stream}.${step}` } })),
    ),
  };
  return createRequestSource({
    model: {
      name: "m",
      version: "2",
      maxBatchSize: 0,
      inputs: [],
      outputs: [],
      isSequence,
      isDecoupled: false,
      composing: [],
    },
    data,
    sequences: { lengthVariation: 0, idRange: { start: 1 }, ...sequences },
    parameters: { common: true },
    random: seededRandom(7),
  });
}

function take(slot: RequestSlot, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const { parameters, sequence } = slot.next().request;
    const flags = `${sequence?.start === true ? "S" : ""}${sequence?.end === true ? "E" : ""}`;
    return [sequence?.id, flags, parameters["at"]]
      .filter((part) => part !== undefined && part !== "")
      .join(":");
  });
}

describe("a source of requests", () => {
  it("gives all entries in turn, to whichever slot asks", () => {
    const plain = source([2, 1], { isSequence: false });
    expect([...take(plain.slot(), 2), ...take(plain.slot(), 2)]).toEqual(["0.0", "0.1", "1.0", "0.0"]);
    expect(plain.slot().end()).toBeUndefined();
    expect(plain.slot().next().request).toMatchObject({
      modelName: "m",
      modelVersion: "2",
      parameters: { common: true, at: "0.1" },
    });
  });

  it("gives each slot a sequence of its own, as long as its stream", () => {
    const sequences = source([2, 3]);
    const [one, other] = [sequences.slot(), sequences.slot()];
    expect(take(one, 1)).toEqual(["1:S:0.0"]);
    expect(take(other, 3)).toEqual(["2:S:1.0", "2:1.1", "2:E:1.2"]);
    expect(take(one, 2)).toEqual(["1:E:0.1", "3:S:0.0"]);
    expect(one.end()?.request.sequence).toEqual({ id: 3n, start: false, end: true });
    expect(one.end()).toBeUndefined();
  });

  it("takes ids from a range, round and round", () => {
    const slot = source([1], { length: 1, idRange: { start: 5, end: 7 } }).slot();
    expect(take(slot, 3)).toEqual(["5:SE:0.0", "6:SE:0.0", "5:SE:0.0"]);
  });

  it("varies lengths about their mean", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 0, max: 100 }),
        (length, lengthVariation) => {
          const slot = source([1], { length, lengthVariation }).slot();
          let steps = 0;
          for (let sequences = 0; sequences < 20;) {
            steps += 1;
            if (slot.next().request.sequence?.end !== true) continue;
            const spread = (length * lengthVariation) / 100;
            expect(Math.abs(steps - length)).toBeLessThanOrEqual(spread + 1);
            steps = 0;
            sequences += 1;
          }
        },
      ),
      { seed: 2026 },
    );
    expect(take(source([1]).slot(), 20).at(-1)).toBe("1:E:0.0");
  });
});
