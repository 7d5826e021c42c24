import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LocalResponseCache } from "./local-response-cache.ts";
import type { CachedResponse } from "./response-cache.ts";

const STILL = { nowNs: () => 0 };

/** One output with `byteLength` bytes, all `fill`. */
function response(fill: number, byteLength = 10): CachedResponse {
  const bytes = new Uint8Array(byteLength).fill(fill);
  return {
    outputs: [{ kind: "bytes", name: "y", datatype: "UINT8", shape: [byteLength], bytes }],
    parameters: {},
  };
}

function firstByte(found: CachedResponse | undefined): number | undefined {
  return found?.outputs[0]?.bytes[0];
}

/** What an entry of `response` with a key of one letter takes. */
const ENTRY_BYTES = measured(response(1));

function measured(kept: CachedResponse): number {
  const cache = new LocalResponseCache({ byteSize: 1e9, clock: STILL });
  cache.openPartition().insert("k", kept);
  return cache.counters().usedBytes;
}

describe("a local cache", () => {
  it("gives what was kept, each time in bytes of its own", () => {
    const cache = new LocalResponseCache({ byteSize: 10_000, clock: STILL });
    const part = cache.openPartition();
    const kept = { ...response(7), parameters: { note: "n" } };
    expect(part.lookup("k")).toBeUndefined();
    expect(part.insert("k", kept)).toEqual({ kind: "inserted" });
    const first = part.lookup("k");
    expect(first).toEqual(kept);
    kept.outputs[0]?.bytes.fill(1);
    first?.outputs[0]?.bytes.fill(2);
    expect(firstByte(part.lookup("k"))).toBe(7);
  });

  it("keeps of a large buffer only the bytes of the output", () => {
    const cache = new LocalResponseCache({ byteSize: 10_000, clock: STILL });
    const part = cache.openPartition();
    const body = new Uint8Array(5_000).fill(3);
    const [output] = response(0).outputs;
    if (output === undefined) throw new Error("one output");
    part.insert("k", { outputs: [{ ...output, bytes: body.subarray(100, 110) }], parameters: {} });
    expect(part.lookup("k")?.outputs[0]?.bytes.buffer.byteLength).toBe(10);
  });

  it("leaves the first answer to a key in its place", () => {
    const part = new LocalResponseCache({ byteSize: 10_000, clock: STILL }).openPartition();
    part.insert("k", response(1));
    expect(part.insert("k", response(2))).toEqual({ kind: "exists" });
    expect(firstByte(part.lookup("k"))).toBe(1);
  });

  it("makes room by the entry that was not used for the longest time", () => {
    const cache = new LocalResponseCache({ byteSize: 3 * ENTRY_BYTES, clock: STILL });
    const part = cache.openPartition();
    for (const key of ["a", "b", "c"]) part.insert(key, response(1));
    part.lookup("a");
    part.insert("d", response(1));
    expect(["a", "b", "c", "d"].filter((key) => part.lookup(key) !== undefined)).toEqual(["a", "c", "d"]);
    expect(cache.counters()).toMatchObject({ entries: 3, evictions: 1, usedBytes: 3 * ENTRY_BYTES });
  });

  it("lets as many go as a large entry needs", () => {
    const cache = new LocalResponseCache({ byteSize: 3 * ENTRY_BYTES, clock: STILL });
    const part = cache.openPartition();
    for (const key of ["a", "b", "c"]) part.insert(key, response(1));
    part.insert("d", response(1, 11));
    expect(cache.counters()).toMatchObject({ entries: 2, evictions: 2 });
  });

  it("refuses what is larger than all of it, and lets nothing go for it", () => {
    const cache = new LocalResponseCache({ byteSize: ENTRY_BYTES, clock: STILL });
    const part = cache.openPartition();
    part.insert("k", response(1));
    expect(part.insert("l", response(1, 11))).toEqual({
      kind: "refused",
      reason: `Requested byte_size: ${ENTRY_BYTES + 1} is greater than total cache size: ${ENTRY_BYTES}`,
    });
    expect(cache.counters()).toMatchObject({ entries: 1, evictions: 0 });
  });

  it("counts names, shapes, keys and parameters too", () => {
    const { outputs } = response(1);
    expect(measured({ outputs, parameters: { key: "value" } })).toBe(ENTRY_BYTES + 2 * "keyvalue".length);
    expect(measured({ outputs: outputs.map((one) => ({ ...one, name: "yyy" })), parameters: {} })).toBe(
      ENTRY_BYTES + 4,
    );
    expect(measured({ outputs: outputs.map((one) => ({ ...one, shape: [1, 10] })), parameters: {} })).toBe(
      ENTRY_BYTES + 8,
    );
  });

  it("keeps partitions apart, and forgets those that are closed", () => {
    const cache = new LocalResponseCache({ byteSize: 10_000, clock: STILL });
    const [one, other] = [cache.openPartition(), cache.openPartition()];
    one.insert("k", response(1));
    expect(other.lookup("k")).toBeUndefined();
    other.insert("k", response(2));
    one.close();
    expect([one, other].map((part) => firstByte(part.lookup("k")))).toEqual([undefined, 2]);
    expect(one.insert("k", response(1))).toMatchObject({ kind: "refused" });
    expect(cache.counters()).toMatchObject({ entries: 1, usedBytes: ENTRY_BYTES, evictions: 0 });
  });

  it("counts lookups and the time of lookups and insertions", () => {
    let nowNs = 0;
    const cache = new LocalResponseCache({ byteSize: 10_000, clock: { nowNs: () => (nowNs += 5) } });
    const part = cache.openPartition();
    part.lookup("k");
    part.insert("k", response(1));
    part.lookup("k");
    part.lookup("k");
    expect(cache.counters()).toMatchObject({ lookups: 3, hits: 2, misses: 1, lookupNs: 15, insertionNs: 5 });
  });

  it("behaves as a list that is searched from the front, and never holds more than its size", () => {
    const KEYS = ["a", "b", "c", "d", "e", "f"];
    const step = fc.record({
      kind: fc.constantFrom("lookup", "insert", "close"),
      key: fc.constantFrom(...KEYS),
      part: fc.nat(1),
      byteLength: fc.nat(1_500),
      fill: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4_000 }),
        fc.array(step, { maxLength: 120 }),
        (byteSize, steps) => {
          const cache = new LocalResponseCache({ byteSize, clock: STILL });
          const parts = [cache.openPartition(), cache.openPartition()];
          /** The least recently used first. */
          let model: { readonly id: string; readonly size: number; readonly kept: CachedResponse }[] = [];
          const closed = new Set<number>();
          for (const { kind, key, part, byteLength, fill } of steps) {
            const partition = parts[part];
            if (partition === undefined) throw new Error("two partitions");
            const id = `${part}${key}`;
            const found = model.find((entry) => entry.id === id);
            switch (kind) {
              case "lookup":
                expect(partition.lookup(key)).toEqual(found?.kept);
                if (found !== undefined) model = [...model.filter((entry) => entry !== found), found];
                break;
              case "insert": {
                const kept = response(fill, byteLength);
                const size = ENTRY_BYTES - 10 + byteLength;
                const { kind: outcome } = partition.insert(key, kept);
                if (closed.has(part) || (found === undefined && size > byteSize)) {
                  expect(outcome).toBe("refused");
                } else if (found !== undefined) {
                  expect(outcome).toBe("exists");
                } else {
                  expect(outcome).toBe("inserted");
                  model = [...model, { id, size, kept }];
                  while (sizeOf(model) > byteSize) model.shift();
                }
                break;
              }
              case "close":
                partition.close();
                closed.add(part);
                model = model.filter((entry) => !entry.id.startsWith(String(part)));
                break;
            }
            const { usedBytes, entries } = cache.counters();
            expect(usedBytes).toBeLessThanOrEqual(byteSize);
            expect({ usedBytes, entries }).toEqual({ usedBytes: sizeOf(model), entries: model.length });
          }
        },
      ),
      { seed: 4, numRuns: 200 },
    );
  });
});

function sizeOf(entries: readonly { readonly size: number }[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
