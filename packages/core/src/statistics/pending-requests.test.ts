import { createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;

function config(strategy: string): string {
  return `
    backend: "fake" max_batch_size: 4
    input { name: "x" data_type: TYPE_FP32 dims: [1] }
    output { name: "y" data_type: TYPE_FP32 dims: [1] }
    sequence_batching { ${strategy} }
  `;
}

it("counts pending requests, however many rows they have", async () => {
  const fixture = await createSchedulerFixture({
    config: `
      backend: "fake" max_batch_size: 8
      input { name: "x" data_type: TYPE_FP32 dims: [1] }
      output { name: "y" data_type: TYPE_FP32 dims: [1] }
      dynamic_batching { }
    `,
    latencyNs: 5 * MS,
  });
  const { clock, statistics } = fixture;
  for (const rows of [1, 3, 2]) fixture.send({ rows });
  await clock.settle();
  expect(statistics.pending.value).toBe(2);
  await clock.drain();
  expect(statistics.pending.value).toBe(0);
});

describe("pending requests of sequences", () => {
  it.each([
    ["direct", "direct { max_queue_delay_microseconds: 1000 minimum_slot_utilization: 1 }"],
    ["oldest", "oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 1000 }"],
  ])("with the strategy %s become fewer by a row of slots at a time", async (_name, strategy) => {
    const fixture = await createSchedulerFixture({ config: config(strategy), latencyNs: 5 * MS });
    const { clock, statistics } = fixture;
    for (let sent = 0; sent < 12; sent += 1) {
      const id = BigInt((sent % 4) + 1);
      fixture.send({ sequence: { id, start: sent < 4, end: sent >= 8 } });
    }
    const pending: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await clock.advance(2 * MS);
      pending.push(statistics.pending.value);
      await clock.advance(4 * MS);
    }
    expect(pending).toEqual([8, 4, 0, 0]);
    await clock.drain();
    expect(statistics.snapshot({ name: "m", version: "1" }).inference_stats.success.count).toBe(12);
    expect(statistics.pending.value).toBe(0);
  });
});
