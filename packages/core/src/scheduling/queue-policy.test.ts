import { answerTexts, executedIds } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { startDynamicBatcher } from "../../test/dynamic-batcher.ts";

const US = 1_000;
const MS = 1_000_000;

describe("queue policy", () => {
  const reject = "default_queue_policy { default_timeout_microseconds: 1000 allow_timeout_override: true }";

  it("rejects an expired request at its moment although the instance is busy", async () => {
    const fixture = await startDynamicBatcher({ batching: reject });
    fixture.send();
    const late = fixture.send();
    await fixture.clock.advance(2 * MS);
    expect(answerTexts([late])).toEqual(["UNAVAILABLE [request id: 2] Request timeout expired"]);
    expect(late.answeredNs).toBe(1 * MS);
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1"]);
    expect(fixture.statistics.details().failures.REJECTED).toBe(1);
  });

  it("does not interrupt an executing request", async () => {
    const fixture = await startDynamicBatcher({ batching: reject });
    const request = fixture.send();
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["response"]);
    expect(request.answeredNs).toBe(10 * MS);
  });

  it("lets a request shorten its timeout, not lengthen it", async () => {
    const fixture = await startDynamicBatcher({ batching: reject });
    fixture.send();
    const short = fixture.send({ timeoutUs: 300 });
    const long = fixture.send({ timeoutUs: 3000 });
    await fixture.clock.drain();
    expect([short.answeredNs, long.answeredNs]).toEqual([300 * US, 1000 * US]);
  });

  it("ignores a request's timeout where the model has none", async () => {
    const fixture = await startDynamicBatcher({
      batching: "default_queue_policy { allow_timeout_override: true }",
    });
    fixture.send();
    const request = fixture.send({ timeoutUs: 300 });
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["response"]);
  });

  it("puts expired requests behind the others under the action DELAY", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 1,
      batching: "default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 11000 }",
    });
    fixture.send();
    fixture.sendMany(3);
    await fixture.clock.advance(15 * MS);
    fixture.send();
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2", "5", "3", "4"]);
  });

  it("refuses at once what exceeds the queue size", async () => {
    const fixture = await startDynamicBatcher({ batching: "default_queue_policy { max_queue_size: 2 }" });
    fixture.send();
    const queued = fixture.sendMany(2);
    expect(() => fixture.send()).toThrow(
      expect.objectContaining({ code: "UNAVAILABLE", message: "[request id: 4] Exceeds maximum queue size" }),
    );
    await fixture.clock.drain();
    expect(answerTexts(queued)).toEqual(["response", "response"]);
    expect(fixture.statistics.snapshot({ name: "m", version: "1" }).inference_stats.fail.count).toBe(0);
  });

  it("refuses nothing on account of what has expired, also when the timer is late", async () => {
    const fixture = await startDynamicBatcher({
      batching: "default_queue_policy { max_queue_size: 2 default_timeout_microseconds: 1000 }",
    });
    fixture.send();
    const expired = [fixture.send(), fixture.send()];
    const { clock } = fixture;
    const nowNs = clock.nowNs.bind(clock);
    clock.nowNs = () => nowNs() + 2 * MS;
    const request = fixture.send();
    expect(answerTexts(expired)).toEqual(["none", "none"]);
    clock.nowNs = nowNs;
    await clock.drain();
    expect(answerTexts([...expired, request])).toEqual([
      "UNAVAILABLE [request id: 2] Request timeout expired",
      "UNAVAILABLE [request id: 3] Request timeout expired",
      "UNAVAILABLE [request id: 4] Request timeout expired",
    ]);
  });

  it("counts what was delayed by its timeout against the queue size", async () => {
    const fixture = await startDynamicBatcher({
      batching: `default_queue_policy {
        timeout_action: DELAY default_timeout_microseconds: 1000 max_queue_size: 2 }`,
    });
    fixture.send();
    fixture.sendMany(2);
    await fixture.clock.advance(2 * MS);
    expect(() => fixture.send()).toThrow("Exceeds maximum queue size");
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2,3"]);
  });

  it("lets a request that was delayed by its timeout share the batch of those that were not", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 2,
      batching: "default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1000 }",
    });
    fixture.send({ rows: 2 });
    fixture.sendMany(2);
    await fixture.clock.advance(9.5 * MS);
    fixture.send();
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "4,2", "3"]);
  });

  it("answers 150,000 requests that expire at once", async () => {
    const fixture = await startDynamicBatcher({
      batching: "default_queue_policy { default_timeout_microseconds: 1000 }",
    });
    fixture.send();
    const request = {
      id: "",
      inputs: [],
      outputs: ["Y"],
      batchSize: 1,
      parameters: {},
      priority: 0,
      timeoutUs: 0,
    };
    // Node walks all listeners of a signal to add one.
    const signal = {
      aborted: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    } as unknown as AbortSignal;
    let rejected = 0;
    for (let index = 0; index < 150_000; index += 1) {
      fixture.scheduler.enqueue({ request, signal, startNs: 0, respond: () => (rejected += 1) });
    }
    await fixture.clock.advance(1 * MS);
    expect(rejected).toBe(150_000);
    await fixture.clock.drain();
  });

  it("serves each level before the next whatever came first, first come first served within it", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 1,
      batching: "priority_levels: 20 default_priority_level: 10",
    });
    fixture.send();
    const levels = Array.from({ length: 40 }, (_, index) => ((index * 7) % 20) + 1);
    for (const priority of levels) fixture.send({ priority });
    await fixture.clock.drain();
    const served = executedIds(fixture)
      .slice(1)
      .map((id) => levels[Number(id) - 2]);
    expect(served).toEqual(levels.toSorted((a, b) => a - b));
  });

  it("takes the action of its own level when a request expires, and of the default where it has none", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 1,
      batching: `priority_levels: 2 default_priority_level: 2
        default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 2000 }
        priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 2000 } }`,
    });
    fixture.send();
    const [delayed, rejected] = [fixture.send({ priority: 1 }), fixture.send({ priority: 2 })];
    await fixture.clock.advance(9 * MS);
    fixture.send({ priority: 1 });
    expect(answerTexts([delayed, rejected])).toEqual([
      "none",
      "UNAVAILABLE [request id: 3] Request timeout expired",
    ]);
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "4", "2"]);
  });

  it("rejects at its deadline a request that waits for the queue delay of an idle instance", async () => {
    const fixture = await startDynamicBatcher({
      batching: `max_queue_delay_microseconds: 5000
        default_queue_policy { default_timeout_microseconds: 1000 }`,
    });
    const request = fixture.send();
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["UNAVAILABLE [request id: 1] Request timeout expired"]);
    expect(request.answeredNs).toBe(1 * MS);
    expect(fixture.backend.executions).toEqual([]);
  });

  it("frees queue size by cancelling", async () => {
    const fixture = await startDynamicBatcher({ batching: "default_queue_policy { max_queue_size: 1 }" });
    fixture.send();
    fixture.send().abort();
    const request = fixture.send();
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["response"]);
  });

  it("serves higher levels first and unknown ones at the default level", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 1,
      batching: "priority_levels: 3 default_priority_level: 2",
    });
    fixture.send();
    fixture.send({ priority: 3 });
    fixture.send({ priority: 0 });
    fixture.send({ priority: 9 });
    fixture.send({ priority: 1 });
    fixture.send({ priority: 2 });
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "5", "3", "4", "6", "2"]);
  });

  it("takes a higher level into a batch that waits for its delay", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 2,
      batching: "priority_levels: 2 default_priority_level: 2 max_queue_delay_microseconds: 1000",
    });
    fixture.send({ priority: 2 });
    await fixture.clock.advance(500 * US);
    fixture.send({ priority: 1 });
    expect(executedIds(fixture)).toEqual(["2,1"]);
    await fixture.clock.drain();
  });

  it("holds each level to its own policy", async () => {
    const fixture = await startDynamicBatcher({
      batching: `priority_levels: 2 default_priority_level: 1
        priority_queue_policy { key: 2 value { default_timeout_microseconds: 500 max_queue_size: 1 } }`,
    });
    fixture.send();
    const [first, second] = [fixture.send({ priority: 1 }), fixture.send({ priority: 2 })];
    expect(() => fixture.send({ priority: 2 })).toThrow("Exceeds maximum queue size");
    await fixture.clock.drain();
    expect(answerTexts([first, second])).toEqual([
      "response",
      "UNAVAILABLE [request id: 3] Request timeout expired",
    ]);
  });
});

describe("preserve_ordering", () => {
  it("answers in the order of arrival although a later execution ends first", async () => {
    const order: string[] = [];
    const fixture = await startDynamicBatcher(
      { maxBatchSize: 1, batching: "preserve_ordering: true" },
      {
        instances: 2,
        onExecute: ({ requestIds }) => ({
          kind: "complete",
          latencyNs: requestIds[0] === "1" ? 50 * MS : 10 * MS,
        }),
      },
    );
    for (const id of ["1", "2", "3"]) fixture.send({ onAnswer: () => order.push(id) });
    await fixture.clock.drain();
    expect(order).toEqual(["1", "2", "3"]);
  });

  it("holds the error of a lost instance back too", async () => {
    const order: string[] = [];
    const fixture = await startDynamicBatcher(
      { maxBatchSize: 1, batching: "preserve_ordering: true" },
      {
        instances: 2,
        onExecute: ({ requestIds }) =>
          requestIds[0] === "1"
            ? { kind: "complete", latencyNs: 50 * MS }
            : { kind: "lose", latencyNs: 1 * MS, culprit: true },
      },
    );
    for (const id of ["1", "2"]) {
      fixture.send({ onAnswer: (outcome) => order.push(`${id} ${outcome.kind}`) });
    }
    await fixture.clock.advance(40 * MS);
    expect(order).toEqual([]);
    await fixture.clock.drain();
    expect(order).toEqual(["1 response", "2 error"]);
  });

  it("does not wait for a cancelled request", async () => {
    const fixture = await startDynamicBatcher(
      { maxBatchSize: 1, batching: "preserve_ordering: true" },
      {
        instances: 2,
        onExecute: ({ requestIds }) => ({
          kind: "complete",
          latencyNs: requestIds[0] === "1" ? 50 * MS : 10 * MS,
        }),
      },
    );
    const [first, second] = [fixture.send(), fixture.send()];
    await fixture.clock.advance(20 * MS);
    expect(second.outcomes).toEqual([]);
    first.abort();
    expect(answerTexts([second])).toEqual(["response"]);
    await fixture.clock.drain();
  });
});
