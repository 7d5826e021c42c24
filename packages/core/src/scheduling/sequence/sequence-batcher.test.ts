import {
  answeredSums,
  answerTexts,
  createSchedulerFixture,
  createSequenceFixture,
  executedIds,
  executedSteps,
  firstElement,
  refusalOf,
  sendStep,
  sumAnswer,
  summingConfig,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { givingUp } from "../../../test/replaced-instances.ts";
import { flagsOf, START_TEXT } from "../../../test/sequence-texts.ts";

const MS = 1_000_000;

describe("direct", () => {
  it("executes the sequence of slot i in row i, fills the other rows, and waits for nothing", async () => {
    const fixture = await createSequenceFixture();
    const a = sendStep(fixture, 1n, "s");
    const sent = [a, sendStep(fixture, 2n, "s"), sendStep(fixture, 3n, "s"), sendStep(fixture, 4n, "s")];
    await fixture.clock.advance(20 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1", "- 2:2 3:3 4:4"]);
    sent.push(sendStep(fixture, 1n), sendStep(fixture, 3n));
    await fixture.clock.advance(20 * MS);
    expect(executedSteps(fixture).slice(2)).toEqual(["1:5", "- - 3:6"]);
    expect(answeredSums(sent)).toEqual([1, 2, 3, 4, 6, 9]);
  });

  it("fills a row with a whole row of which nothing is wanted", async () => {
    const fixture = await createSequenceFixture();
    sendStep(fixture, 1n, "s");
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(20 * MS);
    const [filled, wanted] = fixture.backend.executions[1]?.requests ?? [];
    expect(filled?.outputs).toEqual([]);
    expect(filled?.inputs.map(({ name, shape }) => [name, shape])).toEqual(
      wanted?.inputs.map(({ name, shape }) => [name, shape]),
    );
    expect([filled, wanted].map((row) => row && flagsOf(row))).toEqual(["0,0,0,0", "1,0,1,2"]);
    expect(filled).not.toHaveProperty("sequence");
    expect(wanted?.sequence).toEqual({ id: 2n, start: true, end: false });
  });

  it("tells the model where sequences start and end", async () => {
    const fixture = await createSequenceFixture();
    for (const flags of ["s", "", "e", "se"] as const) {
      sendStep(fixture, 9n, flags);
      await fixture.clock.advance(10 * MS);
    }
    expect(fixture.backend.executions.map(({ requests }) => requests.map(flagsOf).join())).toEqual([
      "1,0,1,9",
      "0,0,1,9",
      "0,1,1,9",
      "1,1,1,9",
    ]);
  });

  it("executes the requests of one sequence one after another, however many are queued", async () => {
    const fixture = await createSequenceFixture();
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n, "e"),
    ];
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "2", "3", "4"]);
    expect(answeredSums(sent)).toEqual([1, 3, 6, 10]);
    expect(sent.map(({ answeredNs }) => answeredNs / MS)).toEqual([10, 20, 30, 40]);
  });

  it("spreads sequences over the instances and leaves them there", async () => {
    const fixture = await createSequenceFixture({ instances: 2, maxBatchSize: 2 });
    for (const id of [1n, 2n, 3n, 4n]) sendStep(fixture, id, "s");
    await fixture.clock.advance(30 * MS);
    for (const id of [4n, 3n, 2n, 1n]) sendStep(fixture, id);
    await fixture.clock.advance(30 * MS);
    const places = fixture.backend.executions.map(({ instanceName, requests }) =>
      [instanceName, ...requests.map(({ inputs }) => firstElement(inputs, "ID"))].join(),
    );
    expect(places).toEqual(["m_0,1", "m_1,2", "m_0,0,3", "m_1,0,4", "m_1,0,4", "m_0,0,3", "m_1,2", "m_0,1"]);
  });

  it("waits for enough slots, but not longer than the delay", async () => {
    const fixture = await createSequenceFixture({
      sequences: "direct { max_queue_delay_microseconds: 5000 minimum_slot_utilization: 0.75 }",
    });
    const first = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.advance(4 * MS);
    expect(executedSteps(fixture)).toEqual([]);
    first.push(sendStep(fixture, 3n, "s"));
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 2n);
    await fixture.clock.advance(4.999 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:2 3:3"]);
    await fixture.clock.advance(0.001 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:2 3:3", "- 2:4"]);
  });

  it("gives a request of another shape a batch of its own", async () => {
    const fixture = await createSchedulerFixture({
      config: summingConfig().replace("dims: [1]", "dims: [-1]"),
      latencyNs: 10 * MS,
      onExecute: sumAnswer,
    });
    for (const id of [1n, 2n, 3n]) sendStep(fixture, id, "s", { dims: [1] });
    await fixture.clock.advance(30 * MS);
    sendStep(fixture, 1n, "", { dims: [1] });
    sendStep(fixture, 2n, "", { dims: [2] });
    sendStep(fixture, 1n, "", { dims: [2] });
    sendStep(fixture, 3n, "", { dims: [2] });
    await fixture.clock.advance(60 * MS);
    expect(executedSteps(fixture).slice(2)).toEqual(["1:4", "1:6 2:5 3:7"]);
    sendStep(fixture, 1n, "", { dims: [1] });
    sendStep(fixture, 1n, "", { dims: [1] });
    sendStep(fixture, 2n, "", { dims: [2] });
    await fixture.clock.advance(60 * MS);
    expect(executedSteps(fixture).slice(4)).toEqual(["1:8", "1:9 -", "- 2:10"]);
  });

  it("lets no sequence wait for ever behind others of another shape", async () => {
    const fixture = await createSchedulerFixture({
      config: summingConfig({ maxBatchSize: 2 }).replace("dims: [1]", "dims: [-1]"),
      latencyNs: MS,
      onExecute: sumAnswer,
    });
    sendStep(fixture, 1n, "s", { dims: [1] });
    await fixture.clock.advance(1);
    const other = sendStep(fixture, 2n, "s", { dims: [2] });
    await fixture.clock.advance(1);
    for (let count = 0; count < 20; count += 1) sendStep(fixture, 1n, "", { dims: [1] });
    await fixture.clock.drain();
    expect(other.answeredNs).toBe(2 * MS);
  });

  it("serves a model without batching, one sequence for each instance at a time", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 0 });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "se"), sendStep(fixture, 1n, "e")];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 4]);
    expect(executedIds(fixture)).toEqual(["1", "3", "2"]);
    expect(fixture.backend.executions[0]?.requests[0]?.inputs.map(({ shape }) => shape)).toEqual([
      [1],
      [1],
      [1],
      [1],
      [1],
      [1],
    ]);
  });
});

describe("oldest", () => {
  const OLDEST = "oldest { max_candidate_sequences: 8 }";

  it("batches any sequences in the order of their requests, one request of each, without filled rows", async () => {
    const fixture = await createSequenceFixture({ sequences: OLDEST });
    const sent = [sendStep(fixture, 1n, "s")];
    for (const id of [6n, 5n, 4n, 3n, 2n]) sent.push(sendStep(fixture, id, "s"), sendStep(fixture, id, "e"));
    await fixture.clock.drain();
    expect(executedSteps(fixture)).toEqual(["1:1", "6:2 5:4 4:6 3:8", "2:10 6:3 5:5 4:7", "3:9 2:11"]);
    expect(answeredSums(sent)).toEqual([1, 2, 5, 4, 9, 6, 13, 8, 17, 10, 21]);
  });

  it("waits for a preferred size, but not longer than the delay", async () => {
    const fixture = await createSequenceFixture({
      sequences:
        "oldest { max_candidate_sequences: 8 preferred_batch_size: [2] max_queue_delay_microseconds: 5000 }",
    });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(2 * MS);
    expect(executedSteps(fixture)).toEqual([]);
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(20 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:2"]);
    sendStep(fixture, 2n);
    await fixture.clock.advance(5 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:2", "2:3"]);
  });

  it("has max_candidate_sequences slots for each instance, or else as many as a batch has rows", async () => {
    const few = await createSequenceFixture({ sequences: "oldest { max_candidate_sequences: 1 }" });
    const as = [sendStep(few, 1n, "s"), sendStep(few, 2n, "s")];
    await few.clock.advance(500 * MS);
    expect(answerTexts(as)).toEqual(["response", "none"]);

    const rowsOfBatch = await createSequenceFixture({ sequences: "oldest { }", maxBatchSize: 2 });
    const bs = [1n, 2n, 3n].map((id) => sendStep(rowsOfBatch, id, "s"));
    await rowsOfBatch.clock.advance(500 * MS);
    expect(answerTexts(bs)).toEqual(["response", "response", "none"]);
  });

  it("orders no answers across instances with preserve_ordering", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      sequences: "oldest { max_candidate_sequences: 8 preserve_ordering: true }",
      onExecute: (execution) => sumAnswer(execution, execution.instanceName === "m_0" ? 100 * MS : MS),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.drain();
    expect(sent.map(({ answeredNs }) => answeredNs / MS)).toEqual([100, 1]);
  });
});

describe("the backlog", () => {
  it("takes sequences when all slots are taken, and gives a slot to the one that has waited longest at an END", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 2n, "s"),
      sendStep(fixture, 3n, "se"),
      sendStep(fixture, 2n, "e"),
      sendStep(fixture, 1n, "e"),
    ];
    await fixture.clock.drain();
    expect(executedSteps(fixture)).toEqual(["1:1", "1:5", "2:2", "2:4", "3:3"]);
    expect(answeredSums(sent)).toEqual([1, 2, 3, 6, 6]);
  });

  it("keeps a sequence whose id is that of one whose END still executes", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n, "e"), sendStep(fixture, 1n, "s")];
    await fixture.clock.advance(25 * MS);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 3, 7]);
  });

  it("knows a sequence of the same id as another once its END has come", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n, "e"),
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n, "e"),
    ];
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(START_TEXT("1"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 3, 7]);
    expect(fixture.logger.lines.filter(({ level }) => level === "warning")).toEqual([]);
  });

  it("keeps the earliest deadline of a sequence when a later one comes", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    sendStep(fixture, 1n, "s");
    const sent = [
      sendStep(fixture, 2n, "s", { timeoutUs: 20_000 }),
      sendStep(fixture, 2n, "", { timeoutUs: 90_000 }),
    ];
    await fixture.clock.advance(50 * MS);
    expect(sent.map(({ answeredNs }) => answeredNs / MS)).toEqual([20, 20]);
  });

  it("gives a sequence that comes back to it the deadline of its next request", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      onCreate: givingUp("m_1"),
    });
    sendStep(fixture, 1n, "s");
    sendStep(fixture, 2n, "s");
    const first = sendStep(fixture, 3n, "s", { timeoutUs: 15_000 });
    await fixture.clock.advance(5 * MS);
    sendStep(fixture, 2n, "e");
    await fixture.clock.advance(35 * MS);
    fixture.backend.lose("m_1");
    await fixture.clock.settle();
    const second = sendStep(fixture, 3n, "", { timeoutUs: 40_000 });
    await fixture.clock.advance(100 * MS);
    expect([first, second].map(({ answeredNs }) => answeredNs / MS)).toEqual([30, 80]);
    expect(answerTexts([first, second])).toEqual([
      "response",
      "UNAVAILABLE timeout of the corresponding sequence has been expired",
    ]);
  });

  it("answers all requests of a sequence at the earliest of their timeouts, and forgets it", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    sendStep(fixture, 1n, "s");
    const expired = [
      sendStep(fixture, 2n, "s"),
      sendStep(fixture, 2n, "", { timeoutUs: 50_000 }),
      sendStep(fixture, 2n, "", { timeoutUs: 20_000 }),
    ];
    const others = [sendStep(fixture, 3n, "s", { timeoutUs: 60_000 })];
    await fixture.clock.advance(19.999 * MS);
    expect(answerTexts(expired)).toEqual(["none", "none", "none"]);
    await fixture.clock.advance(0.001 * MS);
    const text = "UNAVAILABLE timeout of the corresponding sequence has been expired";
    expect(answerTexts(expired)).toEqual([text, text, text]);
    expect(fixture.statistics.details().failures).toMatchObject({ REJECTED: 3 });
    expect(refusalOf(() => sendStep(fixture, 2n))).toBe(
      `${START_TEXT("2")} (the sequence of this id ended: timeout of the corresponding sequence has been expired)`,
    );
    sendStep(fixture, 1n, "e");
    await fixture.clock.advance(30 * MS);
    expect(answerTexts(others)).toEqual(["response"]);
    await fixture.clock.advance(500 * MS);
    expect(refusalOf(() => sendStep(fixture, 3n))).toBe("accepted");
  });

  it("does not time out what has a slot", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n, "", { timeoutUs: 1 }),
      sendStep(fixture, 1n, "e"),
    ];
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual(["response", "response", "response"]);
  });
});

describe("statistics", () => {
  it("count filled rows in the size of the batch and not as inferences", async () => {
    const fixture = await createSequenceFixture();
    sendStep(fixture, 1n, "s");
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(20 * MS);
    const {
      inference_count: inferences,
      execution_count: executions,
      batch_stats: batches,
    } = fixture.statistics.snapshot({ name: "m", version: "1" });
    expect([inferences, executions]).toEqual([2, 2]);
    expect(batches.map(({ batch_size: size, compute_infer: infer }) => [size, infer.count])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });
});
