import type { SentRequest } from "@naiad/testing";
import {
  answeredSums,
  answerTexts,
  createSequenceFixture,
  executedIds,
  refusalOf,
  sendStep,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { START_TEXT } from "../../../test/sequence-texts.ts";

const MS = 1_000_000;

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
