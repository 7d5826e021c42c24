import { describe, expect, it } from "vitest";
import type { BatchCandidate, BatchDecision, BatchingConfig, PendingBatch } from "./select-batch.ts";
import { mergesWith, selectBatch } from "./select-batch.ts";

interface Request extends BatchCandidate<Request> {
  readonly index: number;
}

interface Row {
  readonly name: string;
  /** Rows of each queued request, or rows with a shape or an arrival time. */
  readonly queue: readonly (
    number | { readonly rows?: number; readonly shape?: string; readonly atNs?: number }
  )[];
  readonly payload?: { readonly rows: number; readonly shapeKey?: string };
  readonly config?: Partial<BatchingConfig>;
  readonly nowNs?: number;
  readonly expected: Partial<Record<string, unknown>>;
}

function chain(queue: Row["queue"]): {
  readonly first: Request | undefined;
  readonly all: readonly Request[];
} {
  let next: Request | undefined;
  const all: Request[] = [];
  for (const [index, entry] of [...queue.entries()].reverse()) {
    const { rows = 1, shape = "", atNs = 0 } = typeof entry === "number" ? { rows: entry } : entry;
    next = { index, rows, shapeKey: shape, enqueueNs: atNs, next };
    all.unshift(next);
  }
  return { first: next, all };
}

function decide(row: Row): BatchDecision<Request> {
  return selectBatch<Request>(
    { first: chain(row.queue).first, pending: undefined },
    { rows: 0, shapeKey: "", ...row.payload },
    { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayNs: 0, ...row.config },
    row.nowNs ?? 0,
  );
}

const a = { shape: "a" };
const b = { shape: "b" };

const WITHOUT_DELAY: readonly Row[] = [
  { name: "nothing queued", queue: [], expected: { kind: "idle" } },
  {
    name: "one request goes at once and the payload stays open",
    queue: [1],
    expected: { kind: "dispatch", count: 1, saturated: false, limit: "no_delay" },
  },
  {
    name: "all that is there goes together",
    queue: [1, 2, 3],
    expected: { kind: "dispatch", count: 3, saturated: false },
  },
  {
    name: "exactly the maximum closes the payload",
    queue: [3, 5],
    expected: { kind: "dispatch", count: 2, saturated: true, limit: "full" },
  },
  {
    name: "what is over the maximum stays behind",
    queue: [3, 4, 2],
    expected: { kind: "dispatch", count: 2, saturated: true, limit: "too_large" },
  },
  {
    name: "an open payload takes what fits",
    queue: [1, 1, 1],
    payload: { rows: 6 },
    expected: { kind: "dispatch", count: 2, saturated: true, limit: "full" },
  },
  {
    name: "an open payload into which the next does not fit is closed",
    queue: [3],
    payload: { rows: 6 },
    expected: { kind: "close", saturated: true, shapeLimited: false, limit: "too_large" },
  },
  {
    name: "a full payload is closed as full",
    queue: [1],
    payload: { rows: 8 },
    expected: { kind: "close", limit: "full" },
  },
  {
    name: "preferred 4 and 8: six requests make a batch of four",
    queue: [1, 1, 1, 1, 1, 1],
    config: { preferredBatchSizes: [4, 8] },
    expected: { kind: "dispatch", count: 4, saturated: true, limit: "preferred_batch_size" },
  },
  {
    name: "preferred 4 and 8: twelve make a batch of eight",
    queue: Array.from({ length: 12 }, () => 1),
    config: { preferredBatchSizes: [4, 8] },
    expected: { kind: "dispatch", count: 8, saturated: true, limit: "full" },
  },
  {
    name: "preferred 4 only: stops before it would be exceeded",
    queue: [3, 2],
    config: { preferredBatchSizes: [4] },
    expected: { kind: "dispatch", count: 1, saturated: true, limit: "too_large" },
  },
  {
    name: "a single request above every preferred size goes as it is",
    queue: [6],
    config: { preferredBatchSizes: [4] },
    expected: { kind: "dispatch", count: 1, saturated: true },
  },
  {
    name: "no preferred size at all: one by one",
    queue: [1, 1],
    config: { preferredBatchSizes: [] },
    expected: { kind: "dispatch", count: 1, saturated: true },
  },
  {
    name: "a model without batching takes one request",
    queue: [1, 1],
    config: { maxBatchSize: 1, preferredBatchSizes: [] },
    expected: { kind: "dispatch", count: 1, saturated: true, limit: "full" },
  },
  {
    name: "another shape ends the batch",
    queue: [a, a, b, a],
    expected: { kind: "dispatch", count: 2, saturated: true, shapeLimited: true, limit: "shape" },
  },
  {
    name: "another shape than the open payload's closes it",
    queue: [b],
    payload: { rows: 2, shapeKey: "a" },
    expected: { kind: "close", shapeLimited: true, limit: "shape" },
  },
  {
    name: "the open payload's shape goes in",
    queue: [a, b],
    payload: { rows: 2, shapeKey: "a" },
    expected: { kind: "dispatch", count: 1, shapeLimited: true },
  },
];

const WITH_DELAY: readonly Row[] = [
  {
    name: "too few wait, measured from the oldest",
    queue: [{ atNs: 30 }, { atNs: 60 }],
    nowNs: 70,
    expected: { kind: "wait", untilNs: 130 },
  },
  {
    name: "the oldest need not be the first in line",
    queue: [{ atNs: 60 }, { atNs: 30 }],
    nowNs: 70,
    expected: { kind: "wait", untilNs: 130 },
  },
  {
    name: "when the delay has passed, all go and the payload stays open",
    queue: [{ atNs: 30 }, { atNs: 60 }],
    nowNs: 130,
    expected: { kind: "dispatch", count: 2, saturated: false, limit: "queue_empty" },
  },
  {
    name: "a preferred size goes at once, open for more",
    queue: [1, 1, 1, 1, 1, 1],
    config: { preferredBatchSizes: [4, 8] },
    expected: { kind: "dispatch", count: 4, saturated: false, limit: "preferred_batch_size" },
  },
  {
    name: "the maximum goes at once",
    queue: Array.from({ length: 9 }, () => 1),
    expected: { kind: "dispatch", count: 8, limit: "full" },
  },
  {
    name: "after the delay a preferred size does not hold back the rest",
    queue: [1, 1, 1, 1, 1, 1],
    config: { preferredBatchSizes: [4] },
    nowNs: 100,
    expected: { kind: "dispatch", count: 6, saturated: true },
  },
  {
    name: "after the delay the maximum still holds",
    queue: Array.from({ length: 12 }, () => 1),
    config: { preferredBatchSizes: [4] },
    nowNs: 100,
    expected: { kind: "dispatch", count: 8, saturated: true, limit: "full" },
  },
  {
    name: "another shape does not wait",
    queue: [a, b],
    expected: { kind: "dispatch", count: 1, saturated: true, limit: "shape" },
  },
  {
    name: "requests join a waiting payload of no preferred size",
    queue: [1],
    payload: { rows: 2 },
    expected: { kind: "dispatch", count: 1, saturated: false },
  },
  {
    name: "requests behind a waiting payload of a preferred size wait for the next",
    queue: [1],
    payload: { rows: 4 },
    config: { preferredBatchSizes: [4, 8] },
    expected: { kind: "wait", untilNs: 100 },
  },
  {
    name: "a payload at its largest preferred size takes one request more and is closed",
    queue: [1, 1],
    payload: { rows: 4 },
    config: { preferredBatchSizes: [4] },
    expected: { kind: "dispatch", count: 1, saturated: true },
  },
];

describe("selectBatch", () => {
  it.each(WITHOUT_DELAY)("no delay: $name", (row) => {
    expect(decide(row)).toMatchObject(row.expected);
  });

  it.each(WITH_DELAY)("delay 100: $name", (row) => {
    const withDelay = { ...row, config: { maxQueueDelayNs: 100, ...row.config } };
    expect(decide(withDelay)).toMatchObject(row.expected);
  });

  it("goes on where it stopped: what was walked is not looked at again", () => {
    const config = { maxBatchSize: 8, preferredBatchSizes: [8], maxQueueDelayNs: 100 };
    const { all } = chain([2, 2, 2, 2]);
    const third = all[2];
    const second = all[1];
    if (second === undefined || third === undefined) throw new Error("four requests");
    const forbidden: Request = Object.create(second, {
      rows: {
        get: () => {
          throw new Error("walked again");
        },
      },
      next: { value: third },
    }) as Request;
    const pending: PendingBatch<Request> = { count: 2, rows: 4, oldestNs: 5, last: forbidden };

    const decision = selectBatch({ first: forbidden, pending }, { rows: 0, shapeKey: "" }, config, 10);

    expect(decision).toMatchObject({ kind: "dispatch", count: 4, limit: "full" });
  });
});

describe("mergesWith", () => {
  const config = { maxBatchSize: 8, preferredBatchSizes: [4], maxQueueDelayNs: 100 };
  const payload = { rows: 4, shapeKey: "a", oldestNs: 0, shapeLimited: false };

  it.each([
    { name: "both old and together small enough", expected: true },
    { name: "second not older than the delay", nowNs: 100, expected: false },
    { name: "together too large", second: { rows: 5 }, expected: false },
    { name: "another shape", second: { shapeKey: "b" }, expected: false },
    { name: "closed by a shape", first: { shapeLimited: true }, expected: false },
    { name: "second closed by a shape", second: { shapeLimited: true }, expected: false },
    { name: "no delay configured", config: { maxQueueDelayNs: 0 }, expected: false },
  ])("$name: $expected", ({ nowNs = 101, expected, ...row }) => {
    const merges = mergesWith(
      { ...payload, ...row.first },
      { ...payload, ...row.second },
      { ...config, ...row.config },
      nowNs,
    );
    expect(merges).toBe(expected);
  });
});
