import type { SchedulerFixture } from "@naiad/testing";
import {
  answeredSums,
  answerTexts,
  createSequenceFixture,
  executedSteps,
  refusalOf,
  sendStep,
  sumAnswer,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { givingUp } from "../../../test/replaced-instances.ts";
import { START_TEXT } from "../../../test/sequence-texts.ts";

const MS = 1_000_000;

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
      onCreate: givingUp("m_0"),
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
      onCreate: givingUp(),
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

/** One instance named `n` takes the place of all. */
async function replaceInstances({ backend, clock, group }: SchedulerFixture): Promise<void> {
  const preparing = group.prepare({
    placements: [{ instanceName: "n", device: { kind: "cpu", threads: 1 }, workerKey: "n" }],
    create: backend.create,
    signal: new AbortController().signal,
  });
  await clock.advance(5 * MS);
  (await preparing).commit();
  await clock.drain();
}

describe("other instance groups", () => {
  it("take sequences over from instances that leave", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    await replaceInstances(fixture);
    expect(answeredSums(sent)).toEqual([1, 3]);
    expect(fixture.backend.executions.map(({ instanceName }) => instanceName)).toEqual(["m_0", "n"]);
  });

  it("end sequences that the instances remembered", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1, keepsState: true });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n)];
    await replaceInstances(fixture);
    expect(answeredSums(sent)).toEqual([
      1,
      "UNAVAILABLE the instance of model 'm' that had its state is gone",
    ]);
  });
});
