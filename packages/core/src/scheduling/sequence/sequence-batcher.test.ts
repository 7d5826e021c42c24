import type { InstanceOutcome, InstanceRequest, RequestOutcome } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { SchedulerFixture, SentRequest } from "@naiad/testing";
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
  sumOutcome,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const S = 1_000 * MS;

function flagsOf({ inputs }: InstanceRequest): string {
  return ["START", "END", "READY", "ID"].map((name) => firstElement(inputs, name)).join();
}

/** A state that is a value longer after each step. */
function grownState({ inputs, outputs }: InstanceRequest): InstanceOutcome {
  const shape = [1, rememberedCount(inputs) + 1];
  const bytes = new Uint8Array(4 * (shape[1] ?? 0));
  return {
    kind: "response",
    outputs: outputs.map((name) => ({ kind: "bytes", name, datatype: "FP32", shape, bytes })),
    parameters: {},
  };
}

function rememberedCount(inputs: InstanceRequest["inputs"]): number {
  return inputs.find(({ name }) => name === "s")?.shape[1] ?? 0;
}

const START_TEXT = (id: string): string =>
  `INVALID_ARG inference request for sequence ${id} to model 'm' must specify the START flag on the first request of ` +
  "the sequence";

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
      onCreate: ({ instanceName }, generation) =>
        instanceName === "m_1" && generation > 0
          ? { kind: "fail", error: new InferenceError("INTERNAL", "no") }
          : { kind: "create" },
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

describe("a sequence", () => {
  it("starts anew in its place when START comes before its END", async () => {
    const fixture = await createSequenceFixture();
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n, "e"),
    ];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 3, 7]);
    expect(fixture.logger.lines).toContainEqual({
      level: "warning",
      message:
        "[request id: 3] sequence 1 for model 'm' has a conflict. The previous sequence did not end before this " +
        "sequence start. Previous sequence will be terminated early.",
    });
  });

  it("loses its slot when nothing of it was queued or executed for the idle time", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const first = sendStep(fixture, 1n, "s");
    const second = sendStep(fixture, 2n, "s");
    await fixture.clock.advance(10 * MS);
    expect(answerTexts([first, second])).toEqual(["response", "none"]);
    await fixture.clock.advance(S - 1);
    expect(answerTexts([second])).toEqual(["none"]);
    await fixture.clock.advance(1);
    await fixture.clock.advance(10 * MS);
    expect(answerTexts([second])).toEqual(["response"]);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(
      `${START_TEXT("1")} (the sequence of this id ended: no request came for 1000000 microseconds, its ` +
        "max_sequence_idle_microseconds)",
    );
    sendStep(fixture, 1n, "s");
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe("accepted");
  });

  it("is not idle while it executes, however long that takes", async () => {
    const fixture = await createSequenceFixture({ latencyNs: 3 * S });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(3 * S);
    const again = sendStep(fixture, 1n);
    await fixture.clock.advance(3 * S);
    expect(answeredSums([again])).toEqual([3]);
    await fixture.clock.advance(S);
    expect(refusalOf(() => sendStep(fixture, 1n))).toContain("must specify the START flag");
  });

  it("is idle since its last step, not since the one before it", async () => {
    const fixture = await createSequenceFixture({
      sequences: "max_sequence_idle_microseconds: 5000",
      latencyNs: 4 * MS,
    });
    const sent = [sendStep(fixture, 1n, "s")];
    await fixture.clock.advance(7 * MS);
    sent.push(sendStep(fixture, 1n));
    await fixture.clock.advance(5 * MS);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 6]);
  });

  it("is not idle in the backlog, where it lands when its instance is gone", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      onCreate: ({ instanceName }, generation) =>
        instanceName === "m_0" && generation > 0
          ? { kind: "fail", error: new InferenceError("INTERNAL", "no") }
          : { kind: "create" },
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.advance(10 * MS);
    fixture.backend.lose("m_0");
    // It gets the slot of the other, which is idle for a second, and may then be idle as long.
    await fixture.clock.advance(1.5 * S);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 4]);
  });

  it("may be as idle as configured", async () => {
    const fixture = await createSequenceFixture({ sequences: "max_sequence_idle_microseconds: 5000000" });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(4 * S);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe("accepted");
  });

  it("goes on after an error, with the state that it had", async () => {
    const fixture = await createSequenceFixture({
      onExecute: (execution) =>
        execution.requestIds.includes("2")
          ? { kind: "fail", error: { code: "INTERNAL", message: "no" } }
          : sumAnswer(execution),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n)];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, "INTERNAL no", 4]);
  });

  it("keeps a state that the model did not give", async () => {
    const fixture = await createSequenceFixture({
      onExecute: (execution) => ({
        kind: "complete",
        outcomes: execution.requests.map((request): InstanceOutcome => {
          const outcome = sumOutcome(request);
          const gives = request.id !== "2";
          return { ...outcome, outputs: outcome.outputs.filter(({ name }) => gives || name !== "t") };
        }),
      }),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n)];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 4]);
  });

  it.each([
    ["direct", "", ["1:1", "- 2:1", "3:2 - -", "- - 4:1", "5:3", "- 7:2 6:2"]],
    ["oldest", "oldest { max_candidate_sequences: 4 }", ["1:1", "2:1", "3:2", "4:1", "5:3", "6:2 7:2"]],
  ])("shares no batch with one whose state has another shape (%s)", async (_name, strategy, expected) => {
    const fixture = await createSchedulerFixture({
      config: `name: "m" max_batch_size: 4
        input { name: "x" data_type: TYPE_FP32 dims: [1] } output { name: "y" data_type: TYPE_FP32 dims: [-1] }
        sequence_batching {
          state { input_name: "s" output_name: "y" data_type: TYPE_FP32 dims: [-1] } ${strategy}
        }`,
      latencyNs: MS,
      onExecute: ({ requests }) => ({ kind: "complete", outcomes: requests.map(grownState) }),
    });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(2 * MS);
    // While 3 executes, 1 comes, which remembers two values, and 2, which remembers one.
    sendStep(fixture, 3n, "s");
    sendStep(fixture, 1n);
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(10 * MS);
    for (const id of [1n, 2n, 3n]) sendStep(fixture, id);
    await fixture.clock.advance(10 * MS);
    const shown = fixture.backend.executions.map(({ requests }) =>
      requests
        .map(({ id, inputs, outputs }) => (outputs.length === 0 ? "-" : `${id}:${rememberedCount(inputs)}`))
        .join(" "),
    );
    expect(shown).toEqual(expected);
    expect(fixture.statistics.snapshot({ name: "m", version: "1" })).toMatchObject({
      inference_count: 7,
      execution_count: 6,
      batch_limits: { shape: 1 },
    });
  });

  it("has a state that clients do not see, unless it is an output too", async () => {
    const hidden = await createSequenceFixture();
    const shown = await createSchedulerFixture({
      config: `${summingConfig()} output { name: "t" data_type: TYPE_FP32 dims: [1] }`,
      onExecute: sumAnswer,
    });
    const outputs = async (fixture: SchedulerFixture): Promise<readonly string[]> => {
      const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n, "e")];
      await fixture.clock.drain();
      return sent
        .flatMap((request): readonly RequestOutcome[] => request.outcomes)
        .map((outcome) =>
          outcome.kind === "response" ? outcome.outputs.map(({ name }) => name).join() : "error",
        );
    };
    expect(await outputs(hidden)).toEqual(["y", "y"]);
    expect(await outputs(shown)).toEqual(["y,t", "y,t"]);
  });

  it("begins with what a file holds", async () => {
    const fixture = await createSchedulerFixture({
      config: summingConfig().replace(
        'output_name: "t" data_type: TYPE_FP32 dims: [1]',
        'output_name: "t" data_type: TYPE_FP32 dims: [1] ' +
          'initial_state { name: "i" data_type: TYPE_FP32 dims: [1] data_file: "hundred" }',
      ),
      files: { "initial_state/hundred": new Uint8Array(Float32Array.of(100).buffer) },
      onExecute: sumAnswer,
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n, "s")];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([101, 103, 103]);
  });
});

describe("cancelling", () => {
  it("a queued request cancels what is queued of its sequence, frees the slot and leaves the executing one", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n, "e"),
    ];
    const next = sendStep(fixture, 2n, "s");
    await fixture.clock.advance(5 * MS);
    sent[2]?.abort();
    await fixture.clock.drain();
    const cancelled = (id: number): string => `CANCELLED [request id: ${id}] request was cancelled`;
    expect(answerTexts(sent)).toEqual(["response", cancelled(2), cancelled(3), cancelled(4)]);
    expect(answeredSums([next])).toEqual([5]);
    expect(executedIds(fixture)).toEqual(["1", "5"]);
    expect(fixture.statistics.details().failures).toMatchObject({ CANCELED: 3 });
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(START_TEXT("1"));
  });

  it("an executing request answers at once and ends its sequence", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    await fixture.clock.advance(5 * MS);
    sent[0]?.abort();
    expect(answerTexts(sent).map((text) => text.slice(0, 9))).toEqual(["CANCELLED", "CANCELLED"]);
    const next = sendStep(fixture, 1n, "se");
    await fixture.clock.drain();
    expect(answeredSums([next])).toEqual([3]);
  });

  it("a request in the backlog cancels its sequence there", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    sendStep(fixture, 1n, "s");
    const sent = [sendStep(fixture, 2n, "s", { timeoutUs: 5_000 }), sendStep(fixture, 2n)];
    sent[1]?.abort();
    expect(answerTexts(sent).map((text) => text.slice(0, 9))).toEqual(["CANCELLED", "CANCELLED"]);
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1"]);
  });

  it("the last request of a sequence leaves the next of the same id alone", async () => {
    const fixture = await createSequenceFixture();
    const last = sendStep(fixture, 1n, "se");
    const next = sendStep(fixture, 1n, "se");
    await fixture.clock.advance(5 * MS);
    last.abort();
    await fixture.clock.drain();
    expect(answeredSums([next])).toEqual([2]);
  });

  it("before a request comes refuses it", async () => {
    const fixture = await createSequenceFixture();
    const request = {
      id: "r",
      inputs: [],
      outputs: ["y"],
      batchSize: 1,
      parameters: {},
      sequence: { id: 1n, start: true, end: false },
      priority: 0,
      timeoutUs: 0,
    };
    const enqueue = (): void => {
      const respond = (): void => undefined;
      fixture.scheduler.enqueue({ request, signal: AbortSignal.abort(), startNs: 0, respond });
    };
    expect(refusalOf(enqueue)).toBe("CANCELLED [request id: r] request was cancelled");
    expect(fixture.scheduler.inflightCount).toBe(0);
  });
});

describe("stopping", () => {
  it("refuses new sequences and lets running ones go on until all is answered", async () => {
    const fixture = await createSequenceFixture();
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    let stopped = false;
    void fixture.scheduler.stop().then(() => {
      stopped = true;
    });
    const refused =
      "UNAVAILABLE [request id: 3] Server is stopping, scheduler for model has stopped accepting new inference requests";
    expect(refusalOf(() => sendStep(fixture, 2n, "s"))).toBe(refused);
    expect(refusalOf(() => sendStep(fixture, 1n, "s"))).toBe(refused);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.advance(29 * MS);
    expect(stopped).toBe(false);
    expect(fixture.scheduler.inflightCount).toBe(1);
    await fixture.clock.advance(MS);
    expect(stopped).toBe(true);
    expect(answeredSums(sent)).toEqual([1, 3, 6]);
  });

  it("does not wait for sequences that only might go on, and leaves no timer", async () => {
    const fixture = await createSequenceFixture();
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(10 * MS);
    await fixture.scheduler.stop();
    expect(fixture.clock.timerCount).toBe(0);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(
      "UNAVAILABLE [request id: 2] Server is stopping, scheduler for model has stopped accepting new inference requests",
    );
  });

  it("answers what a running sequence sends as soon as it has the last answer", async () => {
    const fixture = await createSequenceFixture();
    const sent: SentRequest[] = [];
    const first = sendStep(fixture, 1n, "s", {
      onAnswer: () => {
        void Promise.resolve().then(() => sent.push(sendStep(fixture, 1n, "e")));
      },
    });
    let stopped = false;
    void fixture.scheduler.stop().then(() => {
      stopped = true;
    });
    await fixture.clock.advance(10 * MS);
    expect([sent.length, stopped]).toEqual([1, false]);
    await fixture.clock.advance(10 * MS);
    expect(answeredSums([first, ...sent])).toEqual([1, 3]);
    expect(stopped).toBe(true);
  });

  it("leaves no timer, also when an instance is replaced afterwards", async () => {
    const fixture = await createSequenceFixture();
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(10 * MS);
    await fixture.scheduler.stop();
    fixture.backend.lose("m_0");
    await fixture.clock.settle();
    expect(fixture.group.instanceNames).toEqual(["m_0"]);
    expect(fixture.clock.timerCount).toBe(0);
  });
});

describe("a lost instance", () => {
  it("has its execution repeated with the same states where it remembers nothing", async () => {
    const fixture = await createSequenceFixture({
      maxBatchSize: 2,
      onExecute: (execution) =>
        execution.generation === 0 && execution.requestIds.includes("4")
          ? { kind: "lose", culprit: true }
          : sumAnswer(execution),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.advance(20 * MS);
    sent.push(
      sendStep(fixture, 1n),
      sendStep(fixture, 2n),
      sendStep(fixture, 1n, "e"),
      sendStep(fixture, 2n, "e"),
    );
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 4, 6, 9, 12]);
  });

  it("ends the sequences in its slots, and only those, where it remembers them", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      keepsState: true,
      onExecute: (execution) =>
        execution.generation === 0 && execution.requestIds.includes("3")
          ? { kind: "lose", culprit: true }
          : sumAnswer(execution),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.advance(10 * MS);
    sent.push(sendStep(fixture, 1n), sendStep(fixture, 1n), sendStep(fixture, 2n));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([
      1,
      2,
      "UNAVAILABLE [request id: 3] instance 'm_0' of model 'm' was lost with the state of the sequence: lost by the script",
      "UNAVAILABLE instance 'm_0' of model 'm' was lost with its state: lost by the script",
      7,
    ]);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(
      `${START_TEXT("1")} (the sequence of this id ended: instance 'm_0' of model 'm' was lost with its state: lost by ` +
        "the script)",
    );
  });

  it("ends sequences that it remembers also when it does nothing", async () => {
    const fixture = await createSequenceFixture({ keepsState: true });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(10 * MS);
    fixture.backend.lose("m_0", { reason: "gone" });
    await fixture.clock.advance(MS);
    expect(refusalOf(() => sendStep(fixture, 1n))).toContain("was lost with its state: gone");
    const sent = sendStep(fixture, 1n, "se");
    await fixture.clock.drain();
    expect(answerTexts([sent])).toEqual(["response"]);
  });

  it("leaves its sequences to the others, in front of the backlog, also when it is given up", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      onCreate: ({ instanceName }, generation) =>
        instanceName === "m_0" && generation > 0
          ? { kind: "fail", error: new InferenceError("INTERNAL", "no") }
          : { kind: "create" },
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s"), sendStep(fixture, 3n, "se")];
    await fixture.clock.advance(10 * MS);
    fixture.backend.lose("m_0");
    await fixture.clock.settle();
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.advance(500 * MS);
    expect(answerTexts(sent.slice(2))).toEqual(["none", "none"]);
    sent.push(sendStep(fixture, 2n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 3, 5, 7]);
    expect(executedSteps(fixture).slice(2)).toEqual(["2:5", "1:4", "3:3"]);
  });

  it("after which none works answers everything that is queued and ends all sequences", async () => {
    const fixture = await createSequenceFixture({
      maxBatchSize: 1,
      onCreate: (_placement, generation) =>
        generation > 0 ? { kind: "fail", error: new InferenceError("INTERNAL", "no") } : { kind: "create" },
    });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(10 * MS);
    fixture.backend.lose("m_0");
    const sent = [sendStep(fixture, 1n), sendStep(fixture, 2n, "s")];
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual([
      "UNAVAILABLE model 'm' has no working instance: no",
      "UNAVAILABLE model 'm' has no working instance: no",
    ]);
    expect(refusalOf(() => sendStep(fixture, 2n, "s"))).toBe(
      "UNAVAILABLE model 'm' has no working instance: no",
    );
    expect(fixture.scheduler.inflightCount).toBe(0);
  });
});

describe("other instance groups", () => {
  it("take sequences over from instances that leave", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    const placements = [{ instanceName: "n", device: { kind: "cpu" as const, threads: 1 }, workerKey: "n" }];
    const preparing = fixture.group.prepare({
      placements,
      create: fixture.backend.create,
      signal: new AbortController().signal,
    });
    await fixture.clock.advance(5 * MS);
    (await preparing).commit();
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3]);
    expect(fixture.backend.executions.map(({ instanceName }) => instanceName)).toEqual(["m_0", "n"]);
  });

  it("end sequences that the instances remembered", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1, keepsState: true });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    const placements = [{ instanceName: "n", device: { kind: "cpu" as const, threads: 1 }, workerKey: "n" }];
    const preparing = fixture.group.prepare({
      placements,
      create: fixture.backend.create,
      signal: new AbortController().signal,
    });
    await fixture.clock.advance(5 * MS);
    (await preparing).commit();
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([
      1,
      "UNAVAILABLE the instance of model 'm' that had its state is gone",
    ]);
  });
});

describe("an iterative sequence", () => {
  /** Asks to be executed again until the sum is at least 10. */
  const untilTen = (execution: { readonly requests: readonly InstanceRequest[] }) => ({
    kind: "complete" as const,
    outcomes: execution.requests.map((request): InstanceOutcome => {
      const outcome = sumOutcome(request);
      if (firstElement(outcome.outputs, "y") >= 10 || request.outputs.length === 0) return outcome;
      return { kind: "reschedule", outputs: outcome.outputs };
    }),
  });

  it("is made of one request that is executed until the model answers it, and gets an id", async () => {
    const fixture = await createSequenceFixture({
      sequences: "iterative_sequence: true",
      onExecute: untilTen,
    });
    const sent = [fixture.send(), fixture.send(), fixture.send()];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([10, 10, 12]);
    const flags = fixture.backend.executions.flatMap(({ requests }) => requests.map(flagsOf));
    expect(flags.filter((text) => text.endsWith(",3"))).toEqual(["1,0,1,3", "0,0,1,3", "0,0,1,3", "0,0,1,3"]);
    expect(flags.filter((text) => text.endsWith(",1"))).toHaveLength(10);
    expect(fixture.scheduler.inflightCount).toBe(0);
    const statistics = fixture.statistics.snapshot({ name: "m", version: "1" });
    expect(statistics.inference_count).toBe(3);
    expect(statistics.execution_count).toBe(fixture.backend.executions.length);
  });

  it("gives its slot to the next once it is answered, or cancelled between two steps", async () => {
    const fixture = await createSequenceFixture({
      sequences: "iterative_sequence: true",
      maxBatchSize: 1,
      onExecute: untilTen,
    });
    const sent = [fixture.send(), fixture.send()];
    await fixture.clock.advance(35 * MS);
    expect(answerTexts(sent)).toEqual(["none", "none"]);
    sent[0]?.abort();
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual(["CANCELLED [request id: 1] request was cancelled", 10]);
  });

  it("with an id of the client goes on like any other, each request as often as the model wants", async () => {
    const fixture = await createSequenceFixture({
      sequences: "iterative_sequence: true",
      onExecute: untilTen,
    });
    const sent = [sendStep(fixture, 77n, "s"), sendStep(fixture, 77n, "e")];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([10, 12]);
    expect(refusalOf(() => sendStep(fixture, 77n))).toBe(START_TEXT("77"));
  });

  it("does not take an id that a client uses", async () => {
    const fixture = await createSequenceFixture({
      sequences: "iterative_sequence: true",
      onExecute: untilTen,
    });
    sendStep(fixture, 1n, "s");
    const generated = fixture.send();
    await fixture.clock.drain();
    expect(answeredSums([generated])).toEqual([10]);
    expect(
      new Set(
        fixture.backend.executions.flatMap(({ requests }) =>
          requests.map((r) => firstElement(r.inputs, "ID")),
        ),
      ),
    ).toEqual(new Set([1, 2]));
  });

  it("is repeated with the state of its last step after a loss", async () => {
    let executions = 0;
    const fixture = await createSequenceFixture({
      sequences: "iterative_sequence: true",
      onExecute: (execution) =>
        (executions += 1) === 4 ? { kind: "lose", culprit: true } : untilTen(execution),
    });
    const sent = [fixture.send()];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([10]);
    expect(executions).toBe(11);
  });

  it("cannot be had from a model that is not iterative", async () => {
    const fixture = await createSequenceFixture({ onExecute: untilTen });
    const sent = [sendStep(fixture, 1n, "s")];
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual([
      "INTERNAL only a model with 'iterative_sequence' can have a request executed again",
    ]);
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
