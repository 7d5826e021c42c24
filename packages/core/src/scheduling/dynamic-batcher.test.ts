import type { SentRequest } from "@naiad/testing";
import { answerTexts, executedIds, executedSizes } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { startDynamicBatcher } from "../../test/dynamic-batcher.ts";

const US = 1_000;
const MS = 1_000_000;

describe("without a delay", () => {
  it("executes the first request alone at once and what came meanwhile together", async () => {
    const fixture = await startDynamicBatcher({});
    const sent = fixture.sendMany(6);
    expect(executedIds(fixture)).toEqual(["1"]);

    await fixture.clock.drain();

    expect(executedIds(fixture)).toEqual(["1", "2,3,4,5,6"]);
    expect(answerTexts(sent)).toEqual(Array.from({ length: 6 }, () => "response"));
  });

  it("never exceeds the maximum", async () => {
    const fixture = await startDynamicBatcher({});
    fixture.sendMany(20);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([1, 8, 8, 3]);
  });

  it("cuts at preferred sizes: six queued become four and two", async () => {
    const fixture = await startDynamicBatcher({
      batching: "preferred_batch_size: [4, 8] default_queue_policy { max_queue_size: 100 }",
    });
    fixture.send();
    fixture.sendMany(6);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([1, 4, 2]);
  });

  it.each([
    ["formed in advance", ""],
    ["formed when the instance is free", "default_queue_policy { max_queue_size: 100 }"],
  ])("cuts at the only preferred size, however many more fit (%s)", async (_name, policy) => {
    const fixture = await startDynamicBatcher({ batching: `preferred_batch_size: [4] ${policy}` });
    fixture.send();
    fixture.sendMany(7);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([1, 4, 3]);
  });

  it("fills the open batch while the instance is busy, also by what comes late", async () => {
    const fixture = await startDynamicBatcher({});
    fixture.send();
    await fixture.clock.advance(4 * MS);
    fixture.send();
    await fixture.clock.advance(5 * MS);
    fixture.send();
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2,3"]);
    expect(fixture.statistics.details().batchLimits).toMatchObject({ no_delay: 1, instance_busy: 1 });
  });

  it("lets two instances work at the same time", async () => {
    const fixture = await startDynamicBatcher({}, { instances: 2 });
    fixture.sendMany(2);
    expect(fixture.backend.executions.map(({ instanceName }) => instanceName)).toEqual(["m_0", "m_1"]);
    await fixture.clock.drain();
  });

  it("counts rows, not requests", async () => {
    const fixture = await startDynamicBatcher({});
    fixture.send({ rows: 8 });
    fixture.send({ rows: 5 });
    fixture.send({ rows: 3 });
    fixture.send({ rows: 1 });
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([8, 8, 1]);
  });

  it("counts a request of no rows as one", async () => {
    const fixture = await startDynamicBatcher({ maxBatchSize: 2, dims: "-1" });
    fixture.send({ dims: [0] });
    // A row without content: there is no other batch of no rows.
    fixture.sendMany(3, { rows: 0, dims: [0] });
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2,3", "4"]);
  });
});

describe("with a delay", () => {
  it("waits from the oldest, then sends what is there", async () => {
    const fixture = await startDynamicBatcher({
      batching: "preferred_batch_size: [4] max_queue_delay_microseconds: 100",
    });
    fixture.send();
    await fixture.clock.advance(60 * US);
    fixture.sendMany(2);
    await fixture.clock.advance(39 * US);
    expect(executedSizes(fixture)).toEqual([]);

    await fixture.clock.advance(1 * US);
    expect(executedSizes(fixture)).toEqual([3]);
    await fixture.clock.drain();
  });

  it("sends a preferred size at once and lets the rest wait", async () => {
    const fixture = await startDynamicBatcher(
      { batching: "preferred_batch_size: [4, 8] max_queue_delay_microseconds: 5000" },
      { instances: 2 },
    );
    fixture.sendMany(6);
    expect(executedSizes(fixture)).toEqual([4]);
    await fixture.clock.advance(5 * MS - 1);
    expect(executedSizes(fixture)).toEqual([4]);
    await fixture.clock.advance(1);
    expect(executedSizes(fixture)).toEqual([4, 2]);
    await fixture.clock.drain();
  });

  it("sends the maximum at once", async () => {
    const fixture = await startDynamicBatcher({ batching: "max_queue_delay_microseconds: 5000" });
    fixture.sendMany(8);
    expect(executedSizes(fixture)).toEqual([8]);
    await fixture.clock.drain();
  });

  it("waits longer than the delay when no instance is free, and may then exceed the preferred size", async () => {
    const fixture = await startDynamicBatcher({
      batching: "preferred_batch_size: [4] max_queue_delay_microseconds: 100",
    });
    fixture.sendMany(4);
    await fixture.clock.advance(1 * MS);
    fixture.sendMany(4);
    await fixture.clock.advance(1 * MS);
    fixture.sendMany(2);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([4, 6]);
  });

  it("merges waiting batches that are older than the delay when an instance takes the first", async () => {
    const fixture = await startDynamicBatcher({
      batching: "preferred_batch_size: [4] max_queue_delay_microseconds: 100",
    });
    fixture.sendMany(4);
    fixture.sendMany(4);
    fixture.sendMany(4);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([4, 8]);
  });

  it("brings 64 concurrent requests into at most 12 executions", async () => {
    const fixture = await startDynamicBatcher(
      { maxBatchSize: 16, batching: "max_queue_delay_microseconds: 5000" },
      { latencyNs: 3 * MS },
    );
    const sent: SentRequest[] = [];
    for (let index = 0; index < 64; index += 1) {
      sent.push(fixture.send());
      await fixture.clock.advance(20 * US);
    }
    await fixture.clock.drain();

    expect(answerTexts(sent).every((answer) => answer === "response")).toBe(true);
    expect(fixture.backend.executions.length).toBeLessThanOrEqual(12);
    for (const { inputs, outcomes } of sent) {
      expect(outcomes[0]).toMatchObject({ outputs: [{ name: "Y", bytes: inputs[0]?.bytes }] });
    }
  });

  it("needs one timer for many requests", async () => {
    const fixture = await startDynamicBatcher({
      maxBatchSize: 1000,
      batching: "max_queue_delay_microseconds: 5000",
    });
    const before = fixture.clock.timersSet;
    fixture.sendMany(900);
    expect(fixture.clock.timersSet - before).toBe(1);
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([900]);
  });
});

describe("what may share a batch", () => {
  it("batches equal shapes only, in the order they came", async () => {
    const fixture = await startDynamicBatcher({ dims: "-1" });
    fixture.send({ dims: [1] });
    fixture.send({ dims: [2] });
    fixture.send({ dims: [2] });
    fixture.send({ dims: [3] });
    fixture.send({ dims: [2] });
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2,3", "4", "5"]);
    expect(fixture.statistics.details().batchLimits.shape).toBe(2);
  });

  it("does not look at the batch dimension", async () => {
    const fixture = await startDynamicBatcher({ dims: "-1" });
    fixture.send({ dims: [2] });
    fixture.send({ dims: [2], rows: 2 });
    fixture.send({ dims: [2], rows: 3 });
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([1, 5]);
  });

  it("lets ragged inputs differ", async () => {
    const inputs = `input { name: "X" data_type: TYPE_FP32 dims: [-1] allow_ragged_batch: true }`;
    const fixture = await startDynamicBatcher({ inputs });
    fixture.send({ dims: [1] });
    fixture.send({ dims: [2] });
    fixture.send({ dims: [3] });
    await fixture.clock.drain();
    expect(executedSizes(fixture)).toEqual([1, 2]);
  });

  it("wants the same set of optional inputs", async () => {
    const inputs = `
      input { name: "X" data_type: TYPE_FP32 dims: [1] }
      input { name: "Z" data_type: TYPE_FP32 dims: [1] optional: true }`;
    const fixture = await startDynamicBatcher({ inputs });
    fixture.send();
    fixture.send({ inputs: ["X"] });
    fixture.send({ inputs: ["X"] });
    fixture.send();
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2,3", "4"]);
  });
});

describe("cancelling", () => {
  it("answers a waiting request at once, and it does not execute", async () => {
    const fixture = await startDynamicBatcher({});
    const sent = fixture.sendMany(3);
    await fixture.clock.advance(2 * MS);
    sent[1]?.abort();
    expect(sent[1]?.answeredNs).toBe(2 * MS);
    expect(answerTexts(sent)[1]).toBe("CANCELLED [request id: 2] request was cancelled");

    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "3"]);
    expect(fixture.statistics.details().failures.CANCELED).toBe(1);
  });

  it("makes room in an open batch", async () => {
    const fixture = await startDynamicBatcher({ maxBatchSize: 4 });
    const [, waiting] = [fixture.send(), fixture.send({ rows: 3 })];
    waiting.abort();
    fixture.send({ rows: 4 });
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "3"]);
  });

  it("wakes what a request of another shape held back", async () => {
    const fixture = await startDynamicBatcher({ dims: "-1", batching: "max_queue_delay_microseconds: 5000" });
    const sent = [fixture.send({ dims: [1] }), fixture.send({ dims: [1] })];
    for (const request of sent) request.abort();
    await fixture.clock.drain();
    expect(fixture.backend.executions).toHaveLength(0);
    expect(fixture.scheduler.inflightCount).toBe(0);
  });

  it("answers an executing request at once and drops its result", async () => {
    const fixture = await startDynamicBatcher({});
    const request = fixture.send();
    await fixture.clock.advance(1 * MS);
    request.abort();
    expect(request.answeredNs).toBe(1 * MS);
    await fixture.clock.drain();
    expect(request.outcomes).toHaveLength(1);
    const { execution_count, inference_count, inference_stats } = fixture.statistics.snapshot({
      name: "m",
      version: "1",
    });
    expect({ execution_count, inference_count, fail: inference_stats.fail.count }).toEqual({
      execution_count: 1,
      inference_count: 0,
      fail: 1,
    });
  });
});

describe("stopping", () => {
  it("refuses new requests, finishes the accepted ones and leaves no timer", async () => {
    const fixture = await startDynamicBatcher({ batching: "max_queue_delay_microseconds: 5000" });
    const sent = fixture.sendMany(3);
    let stopped = false;
    const stopping = fixture.scheduler.stop().then(() => {
      stopped = true;
    });
    expect(() => fixture.send()).toThrow(
      "[request id: 4] Server is stopping, scheduler for model has stopped accepting new inference requests",
    );
    await fixture.clock.advance(14 * MS);
    expect(stopped).toBe(false);
    await fixture.clock.advance(1 * MS);
    expect(stopped).toBe(true);
    await stopping;
    expect(answerTexts(sent)).toEqual(["response", "response", "response"]);
    expect(fixture.clock.timerCount).toBe(0);
  });

  it("is done at once when nothing is in flight, however often it is asked", async () => {
    const fixture = await startDynamicBatcher({});
    await fixture.scheduler.stop();
    await fixture.scheduler.stop();
    expect(fixture.scheduler.inflightCount).toBe(0);
  });
});

it("refuses a request whose caller has already gone", async () => {
  const fixture = await startDynamicBatcher({});
  const controller = new AbortController();
  controller.abort();
  const respond = (): never => {
    throw new Error("must not be called");
  };
  expect(() => {
    fixture.scheduler.enqueue({
      request: {
        id: "",
        inputs: [],
        outputs: ["Y"],
        batchSize: 1,
        parameters: {},
        priority: 0,
        timeoutUs: 0,
      },
      signal: controller.signal,
      startNs: 0,
      respond,
    });
  }).toThrow(expect.objectContaining({ code: "CANCELLED" }));
});

it("goes on when an answer cannot be delivered", async () => {
  const fixture = await startDynamicBatcher({});
  fixture.send({
    onAnswer: () => {
      throw new Error("nobody there");
    },
  });
  const second = fixture.send();
  await fixture.clock.drain();
  expect(answerTexts([second])).toEqual(["response"]);
  expect(fixture.logger.lines).toContainEqual({
    level: "error",
    message: "model 'm': a response could not be delivered: Error: nobody there",
  });
});
