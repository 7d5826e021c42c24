import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QueuedRequest } from "./queued-request.ts";
import type { QueueConfig, QueuePolicy } from "./request-queue.ts";
import { RequestQueue } from "./request-queue.ts";

const UNLIMITED: QueuePolicy = {
  timeoutAction: "reject",
  defaultTimeoutNs: Infinity,
  allowTimeoutOverride: false,
  maxQueueSize: Infinity,
};

function config(policy: Partial<QueuePolicy> = {}, levels: Partial<QueueConfig> = {}): QueueConfig {
  return {
    priorityLevels: 0,
    defaultPriorityLevel: 0,
    defaultPolicy: { ...UNLIMITED, ...policy },
    levelPolicies: new Map(),
    ...levels,
  };
}

function request(
  options: { id?: string; priority?: number; timeoutUs?: number; enqueueNs?: number } = {},
): QueuedRequest {
  const { id = "", priority = 0, timeoutUs = 0, enqueueNs = 0 } = options;
  return new QueuedRequest(
    {
      request: { id, inputs: [], outputs: [], batchSize: 1, parameters: {}, priority, timeoutUs },
      signal: new AbortController().signal,
      startNs: 0,
      respond: () => undefined,
    },
    { enqueueNs, shapeKey: "" },
  );
}

function ids(queue: RequestQueue): readonly string[] {
  const found: string[] = [];
  for (let next = queue.first; next !== undefined; next = next.next) found.push(next.scheduled.request.id);
  return found;
}

function keepAllPending(queue: RequestQueue): void {
  let last = queue.first;
  while (last?.next !== undefined) last = last.next;
  if (last !== undefined) queue.pending = { count: queue.size, rows: queue.size, oldestNs: 0, last };
}

describe("RequestQueue", () => {
  it("counts the size of each level by itself, delayed requests included", () => {
    const queue = new RequestQueue(
      config(
        { maxQueueSize: 2, defaultTimeoutNs: 10, timeoutAction: "delay" },
        { priorityLevels: 2, defaultPriorityLevel: 1 },
      ),
    );
    queue.push(request({ priority: 1 }));
    queue.expire(10);
    queue.push(request({ priority: 1 }));
    queue.push(request({ priority: 2 }));
    expect(() => {
      queue.push(request({ id: "x", priority: 1 }));
    }).toThrow("[request id: x] Exceeds maximum queue size");
    expect(queue.size).toBe(3);
  });

  it("says when it has something to do next", () => {
    const queue = new RequestQueue(config({ defaultTimeoutNs: 5_000, allowTimeoutOverride: true }));
    expect(queue.nextDeadlineNs).toBe(Infinity);
    queue.push(request({ enqueueNs: 1_000 }));
    const short = request({ enqueueNs: 2_000, timeoutUs: 1 });
    queue.push(short);
    expect(queue.nextDeadlineNs).toBe(3_000);
    expect(queue.expire(2_999)).toEqual([]);
    expect(queue.expire(3_000)).toEqual([short]);
    expect(queue.nextDeadlineNs).toBe(6_000);
    queue.shift(1);
    expect(queue.nextDeadlineNs).toBe(Infinity);
  });

  it("forgets the pending part when it changes, and only then", () => {
    const levels = { priorityLevels: 3, defaultPriorityLevel: 2 };
    const queue = new RequestQueue(config({}, levels));
    const middle = request({ id: "b" });
    queue.push(request({ id: "a" }));
    queue.push(middle);
    keepAllPending(queue);
    queue.push(request({ id: "c" }));
    const low = request({ id: "d", priority: 3 });
    queue.push(low);
    expect(queue.pending?.count).toBe(2);
    queue.remove(low);
    expect(queue.pending?.count).toBe(2);

    queue.push(request({ id: "e", priority: 1 }));
    expect(queue.pending).toBeUndefined();
    expect(ids(queue)).toEqual(["e", "a", "b", "c"]);

    keepAllPending(queue);
    queue.remove(middle);
    expect(queue.pending).toBeUndefined();
    expect(queue.remove(middle)).toBe(false);
  });

  it("forgets the pending part when a request comes before one in it that DELAY has moved back", () => {
    const queue = new RequestQueue(config({ defaultTimeoutNs: 10, timeoutAction: "delay" }));
    queue.push(request({ id: "late" }));
    queue.expire(10);
    keepAllPending(queue);
    queue.push(request({ id: "in time", enqueueNs: 10 }));
    expect(queue.pending).toBeUndefined();
    expect(ids(queue)).toEqual(["in time", "late"]);
  });

  it("keeps the serving order under any mix of operations", () => {
    type Operation =
      { kind: "push"; priority: number } | { kind: "remove"; index: number } | { kind: "expire" };
    const operation = fc.oneof<fc.Arbitrary<Operation>[]>(
      fc.record({ kind: fc.constant("push" as const), priority: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant("remove" as const), index: fc.nat(10) }),
      fc.record({ kind: fc.constant("expire" as const) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
        const queue = new RequestQueue(
          config(
            { defaultTimeoutNs: 3, timeoutAction: "delay" },
            { priorityLevels: 3, defaultPriorityLevel: 1 },
          ),
        );
        /** The same, done the slow way. */
        let expected: { request: QueuedRequest; level: number; delayed: number; turn: number }[] = [];
        for (const [now, operation] of operations.entries()) {
          switch (operation.kind) {
            case "push": {
              const pushed = request({ priority: operation.priority, enqueueNs: now });
              queue.push(pushed);
              expected.push({ request: pushed, level: operation.priority, delayed: 0, turn: now });
              break;
            }
            case "remove": {
              const removed = expected[operation.index]?.request;
              if (removed !== undefined) expect(queue.remove(removed)).toBe(true);
              expected = expected.filter(({ request }) => request !== removed);
              break;
            }
            case "expire":
              queue.expire(now);
              expected = expected.map((entry) =>
                entry.delayed === 0 && entry.request.enqueueNs + 3 <= now
                  ? { ...entry, delayed: 1, turn: 1000 * now + entry.turn }
                  : entry,
              );
              break;
          }
        }
        expected.sort((a, b) => a.level - b.level || a.delayed - b.delayed || a.turn - b.turn);
        expect(queue.size).toBe(expected.length);
        expect(queue.shift(Infinity)).toEqual(expected.map(({ request }) => request));
        expect(queue.size).toBe(0);
      }),
      { seed: 5 },
    );
  });
});
