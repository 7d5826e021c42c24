import { createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";

/**
 * What Triton's own suite for the dynamic batcher looks after, in one table: which requests come when, and which
 * executions start when. Where that suite holds the batcher back until all requests have come, a limited queue does the
 * same here, because nothing is formed then before an instance is free.
 */
const MS = 1_000_000;

interface Arrival {
  readonly atMs?: number;
  readonly rows: number;
  /** Length of the variable dimension. */
  readonly width?: number;
}

interface Row {
  readonly name: string;
  readonly batching?: string;
  readonly ragged?: true;
  readonly instances?: number;
  readonly arrivals: readonly Arrival[];
  /** `ids @ms` of each execution. */
  readonly executions: readonly string[];
}

/** Up to 8 rows, preferred are 2 and 6, a delay of 20 ms; an execution takes 5. */
const DELAYED = "preferred_batch_size: [2, 6] max_queue_delay_microseconds: 20000";
const HELD_BACK = "default_queue_policy { max_queue_size: 100 }";

const SINGLE: readonly Row[] = [
  { name: "a preferred size runs at once", arrivals: [{ rows: 2 }], executions: ["1 @0"] },
  { name: "the largest preferred size too", arrivals: [{ rows: 6 }], executions: ["1 @0"] },
  { name: "less than any preferred size waits", arrivals: [{ rows: 1 }], executions: ["1 @20"] },
  { name: "a size between two of them waits", arrivals: [{ rows: 3 }], executions: ["1 @20"] },
  {
    name: "more than the largest preferred size runs at once",
    arrivals: [{ rows: 7 }],
    executions: ["1 @0"],
  },
];

const SEVERAL: readonly Row[] = [
  {
    name: "what makes no preferred size together waits for the delay of the oldest",
    arrivals: [{ rows: 1 }, { rows: 3, atMs: 8 }],
    executions: ["1,2 @20"],
  },
  {
    name: "what makes a preferred size together runs at once",
    arrivals: [{ rows: 1 }, { rows: 5, atMs: 8 }],
    executions: ["1,2 @8"],
  },
  {
    name: "a request of another shape sends those before it and waits itself",
    arrivals: [{ rows: 1 }, { rows: 1, width: 4, atMs: 8 }],
    executions: ["1 @8", "2 @28"],
  },
  {
    name: "a preferred size of another shape follows as soon as the instance is free",
    arrivals: [{ rows: 3 }, { rows: 2, width: 4, atMs: 2 }],
    executions: ["1 @2", "2 @7"],
  },
  {
    name: "ragged requests of other shapes count together",
    ragged: true,
    arrivals: [{ rows: 1 }, { rows: 5, width: 4, atMs: 8 }],
    executions: ["1,2 @8"],
  },
  {
    name: "what exceeds the maximum together runs apart, the first at once",
    arrivals: [{ rows: 3 }, { rows: 7, atMs: 4 }],
    executions: ["1 @4", "2 @9"],
  },
  {
    name: "what exceeds the largest preferred size and not the maximum runs apart within the delay",
    arrivals: [{ rows: 3 }, { rows: 4, atMs: 4 }],
    executions: ["1 @4", "2 @24"],
  },
  {
    name: "a request that the preferred size leaves no room for waits for the next",
    arrivals: [{ rows: 6 }, { rows: 1, atMs: 1 }, { rows: 1, atMs: 2 }],
    executions: ["1 @0", "2,3 @5"],
  },
  {
    name: "each of two instances takes a preferred size",
    instances: 2,
    arrivals: [{ rows: 6 }, { rows: 2, atMs: 1 }],
    executions: ["1 @0", "2 @1"],
  },
];

/** The first request keeps the instance busy until all have come. */
const QUEUED: readonly Row[] = [
  {
    name: "the largest preferred size that can be made is",
    batching: `preferred_batch_size: [2, 6] ${HELD_BACK}`,
    arrivals: [{ rows: 8 }, ...ones(6)],
    executions: ["1 @0", "2,3,4,5,6,7 @5"],
  },
  {
    name: "else the best one, and the rest follows",
    batching: `preferred_batch_size: [2, 6] ${HELD_BACK}`,
    arrivals: [{ rows: 8 }, ...ones(5)],
    executions: ["1 @0", "2,3 @5", "4,5 @10", "6 @15"],
  },
  {
    name: "sizes are those of rows: requests that do not add up to a preferred size run together all the same",
    batching: `preferred_batch_size: [4, 6] ${HELD_BACK}`,
    arrivals: [{ rows: 8 }, { rows: 3 }, { rows: 2 }],
    executions: ["1 @0", "2,3 @5"],
  },
  {
    name: "without preferred sizes as much as fits",
    batching: HELD_BACK,
    arrivals: [{ rows: 8 }, ...ones(11)],
    executions: ["1 @0", "2,3,4,5,6,7,8,9 @5", "10,11,12 @10"],
  },
  {
    name: "a request that does not fit is not overtaken by a smaller one",
    batching: HELD_BACK,
    arrivals: [{ rows: 8 }, { rows: 5 }, { rows: 4 }, { rows: 1 }],
    executions: ["1 @0", "2 @5", "3,4 @10"],
  },
];

const ONLY_DELAY: readonly Row[] = [
  {
    name: "all that comes within the delay runs together",
    batching: "max_queue_delay_microseconds: 20000",
    arrivals: [{ rows: 1 }, { rows: 2, atMs: 12 }],
    executions: ["1,2 @20"],
  },
  {
    name: "the maximum does not wait",
    batching: "max_queue_delay_microseconds: 20000",
    arrivals: [{ rows: 4 }, { rows: 4, atMs: 12 }, { rows: 1, atMs: 12 }],
    executions: ["1,2 @12", "3 @32"],
  },
  {
    name: "without a delay what comes while the instance works runs together",
    batching: "",
    arrivals: [{ rows: 1 }, { rows: 2, atMs: 1 }, { rows: 3, atMs: 4 }],
    executions: ["1 @0", "2,3 @5"],
  },
];

function ones(count: number): readonly Arrival[] {
  return Array.from({ length: count }, () => ({ rows: 1 }));
}

async function executionsOf(row: Row): Promise<readonly string[]> {
  const fixture = await createSchedulerFixture({
    config: `
      name: "m" backend: "fake" max_batch_size: 8
      input { name: "X" data_type: TYPE_FP32 dims: [-1] allow_ragged_batch: ${row.ragged ?? false} }
      output { name: "Y" data_type: TYPE_FP32 dims: [-1] }
      dynamic_batching { ${row.batching ?? DELAYED} }`,
    instances: row.instances ?? 1,
    latencyNs: 5 * MS,
  });
  for (const { atMs = 0, rows, width = 1 } of row.arrivals) {
    await fixture.clock.advance(atMs * MS - fixture.clock.nowNs());
    fixture.send({ rows, dims: [width] });
  }
  await fixture.clock.drain();
  return fixture.backend.executions.map(({ requestIds, startNs }) => `${requestIds.join()} @${startNs / MS}`);
}

describe("the dynamic batcher, as Triton's suite looks at it", () => {
  it.each(SINGLE)("one request: $name", async (row) => {
    expect(await executionsOf(row)).toEqual(row.executions);
  });

  it.each(SEVERAL)("several: $name", async (row) => {
    expect(await executionsOf(row)).toEqual(row.executions);
  });

  it.each(QUEUED)("queued while the instance is busy: $name", async (row) => {
    expect(await executionsOf(row)).toEqual(row.executions);
  });

  it.each(ONLY_DELAY)("without preferred sizes: $name", async (row) => {
    expect(await executionsOf(row)).toEqual(row.executions);
  });

  it("gives each request of a batch the outputs that it asked for", async () => {
    const { backend, clock, scheduler } = await createSchedulerFixture({
      config: `
        name: "m" backend: "fake" max_batch_size: 8
        input [{ name: "A" data_type: TYPE_FP32 dims: [1] }, { name: "B" data_type: TYPE_FP32 dims: [1] }]
        output [{ name: "C" data_type: TYPE_FP32 dims: [1] }, { name: "D" data_type: TYPE_FP32 dims: [1] }]
        dynamic_batching { max_queue_delay_microseconds: 1000 }`,
    });
    const answers = ["C", "D"].map(
      (output, id) =>
        new Promise((respond) => {
          scheduler.enqueue({
            request: {
              id: String(id),
              inputs: [
                { kind: "bytes", name: "A", datatype: "FP32", shape: [1, 1], bytes: new Uint8Array(4) },
              ],
              outputs: [output],
              batchSize: 1,
              parameters: {},
              priority: 0,
              timeoutUs: 0,
            },
            signal: new AbortController().signal,
            startNs: 0,
            respond,
          });
        }),
    );
    await clock.drain();
    expect(await Promise.all(answers)).toMatchObject([
      { outputs: [{ name: "C" }] },
      { outputs: [{ name: "D" }] },
    ]);
    expect(backend.executions).toHaveLength(1);
  });
});
