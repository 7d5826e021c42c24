import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import {
  answeredSums,
  answerTexts,
  createSequenceFixture,
  firstElement,
  refusalOf,
  sendStep,
  sumOutcome,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { flagsOf, START_TEXT } from "../../../test/sequence-texts.ts";

const MS = 1_000_000;

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
