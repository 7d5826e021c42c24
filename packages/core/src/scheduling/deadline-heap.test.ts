import fc from "fast-check";
import { expect, it } from "vitest";
import { DeadlineHeap } from "./deadline-heap.ts";

it("gives entries by deadline, equal ones by order, whatever was removed in between", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ deadlineNs: fc.nat(20), remove: fc.boolean() })), (input) => {
      const heap = new DeadlineHeap<{ deadlineNs: number; order: number; heapIndex: number }>();
      const entries = input.map(({ deadlineNs }, order) => ({ deadlineNs, order, heapIndex: -1 }));
      for (const entry of entries) heap.add(entry);
      const removed = entries.filter((_, index) => input[index]?.remove);
      for (const entry of removed) heap.remove(entry);
      expect(removed.every((entry) => entry.heapIndex === -1)).toBe(true);

      const taken = [];
      for (let first = heap.first; first !== undefined; first = heap.first) {
        heap.remove(first);
        taken.push(first);
      }
      const kept = entries.filter((entry) => !removed.includes(entry));
      expect(taken).toEqual(kept.toSorted((a, b) => a.deadlineNs - b.deadlineNs || a.order - b.order));
    }),
    { seed: 11 },
  );
});
