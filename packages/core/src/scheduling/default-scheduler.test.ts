import { createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;

const CONFIG = `
  name: "m" backend: "fake" max_batch_size: 8
  input { name: "X" data_type: TYPE_FP32 dims: [1] }
  output { name: "Y" data_type: TYPE_FP32 dims: [1] }`;

describe("the default scheduler", () => {
  it("executes every request by itself, first come first served across the instances", async () => {
    const fixture = await createSchedulerFixture({ config: CONFIG, instances: 2, latencyNs: 10 * MS });
    const sent = fixture.sendMany(5, { priority: 3, timeoutUs: 1 });
    await fixture.clock.drain();
    expect(fixture.backend.executions.map(({ requestIds }) => requestIds)).toEqual([
      ["1"],
      ["2"],
      ["3"],
      ["4"],
      ["5"],
    ]);
    expect(fixture.clock.nowNs()).toBe(30 * MS);
    expect(sent.every(({ outcomes }) => outcomes.length === 1 && outcomes[0]?.kind === "response")).toBe(
      true,
    );
    expect(fixture.statistics.details().batchLimits.not_batching).toBe(5);
  });

  it("tells each request its times and the size of its execution", async () => {
    const fixture = await createSchedulerFixture({
      config: CONFIG,
      onExecute: () => ({
        kind: "complete",
        latencyNs: 10 * MS,
        times: { computeInputNs: 1, computeInferNs: 2, computeOutputNs: 3 },
      }),
    });
    const [, second] = [fixture.send(), fixture.send({ rows: 2 })];
    await fixture.clock.drain();
    expect(second.outcomes).toMatchObject([
      {
        times: { queueNs: 10 * MS, computeInputNs: 1, computeInferNs: 2, computeOutputNs: 3 },
        executedBatchSize: 2,
      },
    ]);
  });

  it("answers with the error of the backend", async () => {
    const fixture = await createSchedulerFixture({
      config: CONFIG,
      onExecute: () => ({ kind: "fail", error: { code: "INVALID_ARG", message: "bad content" } }),
    });
    const request = fixture.send();
    await fixture.clock.drain();
    expect(request.outcomes).toMatchObject([
      { kind: "error", reason: "BACKEND", error: { code: "INVALID_ARG", message: "bad content" } },
    ]);
    expect(fixture.statistics.snapshot({ name: "m", version: "1" }).execution_count).toBe(0);
  });

  it("answers every request also when an instance forgets some", async () => {
    const fixture = await createSchedulerFixture({
      config: CONFIG,
      onExecute: () => ({ kind: "complete", outcomes: [] }),
    });
    const request = fixture.send();
    await fixture.clock.drain();
    expect(request.outcomes).toMatchObject([
      { error: { code: "INTERNAL", message: "an instance of model 'm' answered 0 of 1 requests" } },
    ]);
  });

  it("does not execute what was cancelled in the queue", async () => {
    const fixture = await createSchedulerFixture({ config: CONFIG, latencyNs: 10 * MS });
    const [, second, third] = [fixture.send(), fixture.send(), fixture.send()];
    second.abort();
    await fixture.clock.drain();
    expect(fixture.backend.executions.map(({ requestIds }) => requestIds[0])).toEqual(["1", "3"]);
    expect(third.outcomes).toHaveLength(1);
  });

  it("stops after the last answer", async () => {
    const fixture = await createSchedulerFixture({ config: CONFIG, latencyNs: 10 * MS });
    fixture.sendMany(2);
    let stopped = false;
    void fixture.scheduler.stop().then(() => {
      stopped = true;
    });
    expect(() => fixture.send()).toThrow("Server is stopping");
    await fixture.clock.advance(19 * MS);
    expect(stopped).toBe(false);
    await fixture.clock.advance(1 * MS);
    expect(stopped).toBe(true);
  });
});
