import type { SchedulerFixture } from "@naiad/testing";
import { createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;

interface Row {
  readonly name: string;
  readonly batching?: string;
  readonly play: (fixture: SchedulerFixture) => Promise<void>;
  /** Executions by what limited their batch; the others are 0. */
  readonly expected: Readonly<Record<string, number>>;
}

/** Up to 4 rows; an execution takes 10 ms. */
const ROWS: readonly Row[] = [
  {
    name: "one client at a time and no delay: nothing waits for company",
    play: async (fixture) => {
      for (let count = 0; count < 3; count += 1) {
        fixture.send();
        await fixture.clock.advance(10 * MS);
      }
    },
    expected: { no_delay: 3 },
  },
  {
    name: "one client at a time and a delay: nobody comes",
    batching: "max_queue_delay_microseconds: 100",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(20 * MS);
      fixture.send();
    },
    expected: { queue_empty: 2 },
  },
  {
    name: "what came while the instance was busy goes together",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.sendMany(2);
    },
    expected: { no_delay: 1, instance_busy: 1 },
  },
  {
    name: "so it does where nothing is formed in advance",
    batching: "default_queue_policy { max_queue_size: 9 }",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.sendMany(2);
    },
    expected: { no_delay: 1, instance_busy: 1 },
  },
  {
    name: "so it does when its delay passed meanwhile",
    batching: "max_queue_delay_microseconds: 100 default_queue_policy { max_queue_size: 9 }",
    play: async (fixture) => {
      fixture.sendMany(4);
      await fixture.clock.advance(1 * MS);
      fixture.sendMany(2);
    },
    expected: { full: 1, instance_busy: 1 },
  },
  {
    name: "more than fits",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.sendMany(6);
    },
    expected: { no_delay: 1, full: 1, instance_busy: 1 },
  },
  {
    name: "the next request is too large",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.send({ rows: 3 });
      fixture.send({ rows: 2 });
    },
    expected: { no_delay: 1, too_large: 1, instance_busy: 1 },
  },
  {
    name: "the next request has another shape",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.send({ dims: [1] });
      fixture.send({ dims: [2] });
      fixture.send({ dims: [2] });
    },
    expected: { no_delay: 1, shape: 1, instance_busy: 1 },
  },
  {
    name: "a preferred size was reached",
    batching: "preferred_batch_size: [2] max_queue_delay_microseconds: 100",
    play: async (fixture) => {
      fixture.sendMany(2);
      await Promise.resolve();
    },
    expected: { preferred_batch_size: 1 },
  },
  {
    name: "a batch of more than a preferred size took along what came later",
    batching: "preferred_batch_size: [2] max_queue_delay_microseconds: 100",
    play: async (fixture) => {
      fixture.send();
      await fixture.clock.advance(1 * MS);
      fixture.sendMany(4);
    },
    expected: { queue_empty: 1, instance_busy: 1 },
  },
  {
    name: "a lost execution is repeated request by request",
    play: async (fixture) => {
      fixture.sendMany(4, { rows: 1 });
      await fixture.clock.advance(11 * MS);
      fixture.backend.lose("m_0");
    },
    // The lost batch of three counts once, and then each of its requests.
    expected: { no_delay: 1, instance_busy: 1, retry: 3 },
  },
];

describe("statistics say why a batch was not larger", () => {
  it.each(ROWS)("$name", async ({ batching = "", play, expected }) => {
    const fixture = await createSchedulerFixture({
      config: `
        name: "m" backend: "fake" max_batch_size: 4
        input { name: "X" data_type: TYPE_FP32 dims: [-1] }
        output { name: "Y" data_type: TYPE_FP32 dims: [-1] }
        dynamic_batching { ${batching} }`,
      latencyNs: 10 * MS,
    });
    await play(fixture);
    await fixture.clock.drain();
    const { batchLimits } = fixture.statistics.details();
    expect(Object.fromEntries(Object.entries(batchLimits).filter(([, count]) => count > 0))).toEqual(
      expected,
    );
  });
});
