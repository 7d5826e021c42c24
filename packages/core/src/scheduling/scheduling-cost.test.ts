import { createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { PLAIN_QUEUE } from "./batching-config.ts";
import { QueuedRequest } from "./queued-request.ts";
import { RequestQueue } from "./request-queue.ts";
import type { ScheduledRequest, ValidRequest } from "./scheduler.ts";
import { selectBatch } from "./select-batch.ts";

const MS = 1_000_000;

const REQUEST: ValidRequest = {
  id: "",
  inputs: [],
  outputs: ["Y"],
  batchSize: 1,
  parameters: {},
  priority: 0,
  timeoutUs: 0,
};

/** Node walks all listeners of a signal to add one, so 100,000 requests on one real signal would measure that. */
const NEVER_ABORTED = {
  aborted: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
} as unknown as AbortSignal;

/** A request that counts how often somebody walks over it. */
class CountingRequest extends QueuedRequest {
  static steps = 0;
  #next: QueuedRequest | undefined = undefined;

  constructor() {
    super(
      { request: REQUEST, signal: NEVER_ABORTED, startNs: 0, respond: () => undefined },
      { enqueueNs: 0, shapeKey: "" },
    );
    Object.defineProperty(this, "next", {
      get: () => {
        CountingRequest.steps += 1;
        return this.#next;
      },
      set: (next: QueuedRequest | undefined) => {
        this.#next = next;
      },
    });
  }
}

/** Steps per request to queue `count` requests, asking the policy after each, and to move them all into batches. */
function stepsPerRequest(count: number): number {
  const queue = new RequestQueue(PLAIN_QUEUE);
  const config = { maxBatchSize: 64, preferredBatchSizes: [64], maxQueueDelayNs: 1000 };
  const empty = { rows: 0, shapeKey: "" };
  CountingRequest.steps = 0;
  for (let index = 0; index < count; index += 1) {
    queue.push(new CountingRequest());
    if (index < 63) {
      const decision = selectBatch(queue, empty, config, 0);
      if (decision.kind === "wait") queue.pending = decision.pending;
    }
  }
  while (queue.size > 0) {
    const decision = selectBatch(queue, empty, config, 1000);
    if (decision.kind !== "dispatch") throw new Error(decision.kind);
    queue.shift(decision.count);
  }
  return CountingRequest.steps / count;
}

interface Cost {
  readonly clockReadings: number;
  readonly timers: number;
  readonly executions: number;
}

async function costPerRequest(count: number, config: string): Promise<Cost> {
  const fixture = await createSchedulerFixture({ config, instances: 2, latencyNs: MS });
  const { clock } = fixture;
  const nowNs = clock.nowNs.bind(clock);
  let clockReadings = 0;
  clock.nowNs = () => {
    clockReadings += 1;
    return nowNs();
  };
  const timersBefore = clock.timersSet;
  let answered = 0;
  const scheduled: ScheduledRequest = {
    request: REQUEST,
    signal: NEVER_ABORTED,
    startNs: 0,
    respond: () => {
      answered += 1;
    },
  };
  for (let index = 0; index < count; index += 1) fixture.scheduler.enqueue(scheduled);
  await clock.drain();
  expect(answered).toBe(count);
  return {
    clockReadings: clockReadings / count,
    timers: (clock.timersSet - timersBefore) / count,
    executions: fixture.backend.executions.length / count,
  };
}

function model(scheduling: string): string {
  return `
    name: "m" backend: "fake" max_batch_size: 64
    input { name: "X" data_type: TYPE_FP32 dims: [-1] }
    output { name: "Y" data_type: TYPE_FP32 dims: [-1] }
    ${scheduling}`;
}

describe("the cost of a queued request", () => {
  it("does not grow with the number of requests before it", () => {
    expect(stepsPerRequest(100)).toBeLessThan(6);
    expect(stepsPerRequest(100_000)).toBeLessThan(6);
  });

  it.each([
    ["without a delay", "dynamic_batching { }"],
    ["with a delay", "dynamic_batching { max_queue_delay_microseconds: 500 }"],
    [
      "with timeouts",
      "dynamic_batching { default_queue_policy { default_timeout_microseconds: 100000000 } }",
    ],
  ])("%s: 100,000 requests need no more of clock and timers each than 1,000", async (_, scheduling) => {
    const few = await costPerRequest(1_000, model(scheduling));
    const many = await costPerRequest(100_000, model(scheduling));
    expect(many.executions).toBeLessThan(1 / 60);
    expect(many.clockReadings).toBeLessThanOrEqual(few.clockReadings + 0.1);
    expect(many.timers).toBeLessThanOrEqual(few.timers + 0.01);
  });
});
