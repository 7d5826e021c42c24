import type { FakeExecution } from "@naiad/testing";
import {
  answeredSums,
  answerTexts,
  createSequenceFixture,
  createServerBench,
  echoModel,
  echoRequest,
  executedSteps,
  sendStep,
  sumAnswer,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { givingUp } from "../../../test/replaced-instances.ts";

const MS = 1_000_000;
/** More than anything here needs, and far fewer than a clock that is set for the past again and again. */
const FEW_TIMERS = 50;

describe("a delay that has passed before its instance can be asked", () => {
  it.each([
    ["direct", "direct { max_queue_delay_microseconds: 2000 minimum_slot_utilization: 1.0 }"],
    ["oldest", "oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 2000 }"],
  ])("is not waited for again while another model has its turn (%s)", async (_name, strategy) => {
    const group =
      'instance_group { kind: KIND_CPU count: 1 rate_limiter { resources { name: "gpu" count: 1 global: true } } }';
    const bench = createServerBench({
      models: {
        other: echoModel([1], group),
        seq: echoModel([1], `${group} sequence_batching { ${strategy} }`),
      },
      options: { rateLimit: "execution_count", loadModels: ["*"] },
      backend: { latencyNs: 50 * MS },
    });
    await bench.start();
    const before = bench.clock.timersSet;
    const sequence = { id: 1n, start: true, end: true };
    const waiting = bench.server.modelInfer(
      { ...echoRequest("seq", 1), sequence },
      { signal: new AbortController().signal },
    );
    await bench.clock.advance(MS);
    const executing = bench.infer("other", 2);
    await bench.clock.advance(40 * MS);
    expect(bench.clock.timersSet - before).toBeLessThan(FEW_TIMERS);
    await bench.finish();
    await Promise.all([waiting, executing]);
    const starts = bench.backend.executions.map(({ startNs }) => startNs / MS);
    expect(starts.map((start) => start - (starts[0] ?? 0))).toEqual([0, 50]);
  });

  it("is not waited for again while the instance repeats a lost execution", async () => {
    let executions = 0;
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 2,
      sequences: "direct { max_queue_delay_microseconds: 10000 minimum_slot_utilization: 1.0 }",
      onCreate: (_placement, generation) => ({ kind: "create", latencyNs: generation > 0 ? 1000 * MS : 0 }),
      onExecute: (execution) => {
        executions += 1;
        return executions === 1
          ? { kind: "lose", latencyNs: 5 * MS, culprit: false }
          : sumAnswer(execution, 50 * MS);
      },
    });
    const before = fixture.clock.timersSet;
    // 1 and 3 fill the instance that is lost; the other one waits for a companion of 2 and repeats them meanwhile.
    const sent = [1n, 2n, 3n].map((id) => sendStep(fixture, id, "se"));
    await fixture.clock.advance(200 * MS);
    expect(fixture.clock.timersSet - before).toBeLessThan(FEW_TIMERS);
    expect(answerTexts(sent)).toEqual(["response", "response", "response"]);
  });

  it("is not waited for when the instance that waited is given up", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 2,
      sequences: "direct { max_queue_delay_microseconds: 5000 minimum_slot_utilization: 1.0 }",
      onCreate: givingUp("m_1"),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "se"), sendStep(fixture, 3n, "s")];
    await fixture.clock.advance(MS);
    fixture.backend.lose("m_1");
    await fixture.clock.settle();
    const before = fixture.clock.timersSet;
    await fixture.clock.advance(100 * MS);
    expect(fixture.clock.timersSet - before).toBeLessThan(FEW_TIMERS);
    sendStep(fixture, 1n, "e");
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 3]);
  });
});

describe("the queue delay of oldest", () => {
  const DELAYED = "oldest { max_candidate_sequences: 8 max_queue_delay_microseconds: 5000 }";

  function startsMs(executions: readonly FakeExecution[]): readonly number[] {
    return executions.map(({ startNs }) => startNs / MS);
  }

  it("is for a sequence that begins, and not for the steps of one that is alone", async () => {
    const fixture = await createSequenceFixture({ sequences: DELAYED });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 1n);
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 1n, "e");
    await fixture.clock.drain();
    expect(startsMs(fixture.backend.executions)).toEqual([5, 20, 40]);
  });

  it("is not for the steps of an iterative sequence that is alone either", async () => {
    let executions = 0;
    const fixture = await createSequenceFixture({
      sequences: `${DELAYED} iterative_sequence: true`,
      onExecute: (execution) => {
        executions += 1;
        const answer = sumAnswer(execution);
        if (executions > 2) return answer;
        const outcomes = answer.outcomes?.map((outcome) =>
          outcome.kind === "response" ? { kind: "reschedule" as const, outputs: outcome.outputs } : outcome,
        );
        return { ...answer, ...(outcomes !== undefined && { outcomes }) };
      },
    });
    const sent = [fixture.send()];
    await fixture.clock.drain();
    expect(startsMs(fixture.backend.executions)).toEqual([5, 15, 25]);
    expect(answeredSums(sent)).toEqual([3]);
  });

  it("is for the running sequences that have sent nothing yet, and ends with the last of them", async () => {
    const fixture = await createSequenceFixture({ sequences: DELAYED });
    for (const id of [1n, 2n, 3n]) sendStep(fixture, id, "s");
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 1n);
    await fixture.clock.advance(MS);
    sendStep(fixture, 2n);
    await fixture.clock.advance(MS);
    expect(fixture.backend.executions).toHaveLength(1);
    sendStep(fixture, 3n);
    await fixture.clock.advance(10 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:2 3:3", "1:4 2:5 3:6"]);
    expect(startsMs(fixture.backend.executions)).toEqual([5, 22]);
  });

  it("ends when a sequence that could have been waited for is over", async () => {
    const fixture = await createSequenceFixture({
      sequences: `${DELAYED} max_sequence_idle_microseconds: 12000`,
    });
    sendStep(fixture, 1n, "s");
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(25 * MS);
    sendStep(fixture, 1n);
    await fixture.clock.drain();
    expect(startsMs(fixture.backend.executions)).toEqual([5, 27]);
  });

  it("is for those that might begin beside one that does", async () => {
    const fixture = await createSequenceFixture({ sequences: DELAYED });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 2n, "s");
    sendStep(fixture, 1n);
    await fixture.clock.advance(MS);
    sendStep(fixture, 3n, "s");
    await fixture.clock.advance(20 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1", "2:2 1:3 3:4"]);
    expect(startsMs(fixture.backend.executions)).toEqual([5, 25]);
  });

  it("is not for the start of a sequence that was cancelled while it waited", async () => {
    const fixture = await createSequenceFixture({ sequences: DELAYED });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(20 * MS);
    sendStep(fixture, 2n, "s").abort();
    sendStep(fixture, 1n);
    await fixture.clock.drain();
    expect(startsMs(fixture.backend.executions)).toEqual([5, 20]);
  });

  it("counts from the arrival of a request, also where the one before it executed meanwhile", async () => {
    const fixture = await createSequenceFixture({ sequences: DELAYED });
    sendStep(fixture, 1n, "s");
    sendStep(fixture, 1n);
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(40 * MS);
    expect(executedSteps(fixture)).toEqual(["1:1 2:3", "1:2"]);
    expect(startsMs(fixture.backend.executions)).toEqual([5, 15]);
  });
});
