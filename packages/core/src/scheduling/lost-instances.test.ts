import { answerTexts, createCollectingLogger, createFakeClock, executedIds } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { ModelInstance } from "../ports.ts";
import { groupOptions, start } from "../../test/replaced-instances.ts";
import { startInstanceGroup } from "./start-instance-group.ts";
import { QueuedRequest } from "./queued-request.ts";

const MS = 1_000_000;

function queuedRequest(id: string): QueuedRequest {
  return new QueuedRequest(
    {
      request: { id, inputs: [], outputs: ["Y"], batchSize: 1, parameters: {}, priority: 0, timeoutUs: 0 },
      signal: new AbortController().signal,
      startNs: 0,
      respond: () => undefined,
    },
    { enqueueNs: 0, shapeKey: "" },
  );
}

describe("a lost instance", () => {
  it("is replaced, and the requests of its batch are retried one by one", async () => {
    const fixture = await start({
      onExecute: ({ rows }) =>
        rows > 1 ? { kind: "lose", culprit: true, latencyNs: MS } : { kind: "complete" },
    });
    const sent = fixture.sendMany(4);
    await fixture.clock.drain();

    expect(executedIds(fixture)).toEqual(["1", "2,3,4", "2", "3", "4"]);
    expect(answerTexts(sent)).toEqual(["response", "response", "response", "response"]);
    expect(fixture.group.status()).toMatchObject([
      { instanceName: "m_0", state: "ready", replacements: 1, executionCount: 4 },
    ]);
    expect(fixture.statistics.details().batchLimits.retry).toBe(3);
  });

  it("takes only the request down that kills it again when alone", async () => {
    const fixture = await start({
      onExecute: ({ requestIds }) =>
        requestIds.includes("3") ? { kind: "lose", culprit: true, reason: "it hung" } : { kind: "complete" },
    });
    const sent = fixture.sendMany(4);
    await fixture.clock.drain();

    expect(answerTexts(sent)).toEqual([
      "response",
      "response",
      "INTERNAL [request id: 3] instance 'm_0' of model 'm' was lost while it executed the request, also when the request was retried alone: it hung",
      "response",
    ]);
    expect(executedIds(fixture)).toEqual(["1", "2,3,4", "2", "3", "4"]);
    expect(fixture.statistics.details().failures.BACKEND).toBe(1);
  });

  it("that remembers sequences does not have their requests executed twice", async () => {
    const fixture = await start({
      keepsState: true,
      onExecute: ({ generation }) =>
        generation === 0 ? { kind: "lose", culprit: true } : { kind: "complete" },
    });
    const sent = [fixture.send({ sequence: { id: 1n, start: true, end: false } })];
    await fixture.clock.drain();
    expect(answerTexts(sent)[0]).toMatch(
      /^UNAVAILABLE .* was lost with the state of the sequence: lost by the script$/,
    );
    expect(fixture.backend.executions).toHaveLength(1);
  });

  it("that remembers anything does not have what it was lost with executed again", async () => {
    const fixture = await start({
      keepsState: true,
      onExecute: ({ generation }) =>
        generation === 0 ? { kind: "lose", culprit: true } : { kind: "complete" },
    });
    const sent = [fixture.send()];
    await fixture.clock.drain();
    expect(answerTexts(sent)[0]).toMatch(
      /^INTERNAL .* was lost while it executed the request: lost by the script$/,
    );
    expect(fixture.backend.executions).toHaveLength(1);
  });

  it("has the requests of sequences executed again where it remembers nothing", async () => {
    const fixture = await start({
      onExecute: ({ generation }) =>
        generation === 0 ? { kind: "lose", culprit: true } : { kind: "complete" },
    });
    const sent = [fixture.send({ sequence: { id: 1n, start: true, end: false } })];
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual(["response"]);
  });

  it("that was not to blame gives its batch back as it was, without counting", async () => {
    const fixture = await start({
      onExecute: ({ generation }) =>
        generation < 3 ? { kind: "lose", culprit: false } : { kind: "complete" },
    });
    const sent = [
      fixture.send(),
      ...fixture.sendMany(2),
      fixture.send({ sequence: { id: 1n, start: true, end: false } }),
    ];
    await fixture.clock.drain();
    expect(executedIds(fixture)).toEqual(["1", "1", "1", "1", "2,3,4"]);
    expect(answerTexts(sent)).toEqual(["response", "response", "response", "response"]);
  });

  it("does not send a request round for ever", async () => {
    const fixture = await start({
      onExecute: () => ({ kind: "lose", culprit: false, reason: "the GPU is gone" }),
    });
    const sent = [fixture.send()];
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual([
      "UNAVAILABLE [request id: 1] instance 'm_0' of model 'm' was lost before it could execute the request, 6 times in a row: the GPU is gone",
    ]);
    expect(fixture.backend.executions).toHaveLength(6);
  });

  it("is replaced also when it was idle", async () => {
    const fixture = await start();
    fixture.backend.lose("m_0");
    await fixture.clock.drain();
    const request = fixture.send();
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["response"]);
    expect(fixture.group.status()).toMatchObject([{ state: "ready", replacements: 1 }]);
  });

  it("leaves the other instances alone", async () => {
    const fixture = await start({
      instances: 2,
      onExecute: ({ instanceName, generation }) =>
        instanceName === "m_0" && generation === 0 ? { kind: "lose", culprit: true } : { kind: "complete" },
    });
    const sent = fixture.sendMany(2);
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual(["response", "response"]);
    expect(fixture.group.status().map(({ replacements }) => replacements)).toEqual([1, 0]);
  });

  it("does not retry what was cancelled meanwhile", async () => {
    const fixture = await start({
      onExecute: ({ generation }) =>
        generation === 0 ? { kind: "lose", culprit: true, latencyNs: 5 * MS } : { kind: "complete" },
      onCreate: (_, generation) => ({ kind: "create", latencyNs: generation === 0 ? 0 : 20 * MS }),
    });
    const request = fixture.send();
    await fixture.clock.advance(10 * MS);
    request.abort();
    expect(request.answeredNs).toBe(10 * MS);
    await fixture.clock.drain();
    expect(fixture.backend.executions).toHaveLength(1);
    expect(request.outcomes).toHaveLength(1);
  });

  it("that breaks its promise and rejects counts as lost", async () => {
    const clock = createFakeClock();
    const logger = createCollectingLogger();
    const create = (): Promise<ModelInstance> =>
      Promise.resolve({
        device: { executionProvider: "other", build: "broken", threads: 1 },
        execute: () => Promise.reject(new Error("out of order")),
        lost: new Promise(() => undefined),
        dispose: () => Promise.reject(new Error("not disposed")),
      });
    const group = await startInstanceGroup({ ...groupOptions(clock), logger, create });
    const waiting = [queuedRequest("1")];
    const errors: string[] = [];
    group.serve({
      take: () => (waiting.length > 0 ? waiting.splice(0) : undefined),
      hasWork: () => waiting.length > 0,
      answers: { complete: () => undefined, respond: () => Promise.resolve(), end: () => undefined },
      failed: (_, error) => errors.push(error.message),
      failWaiting: () => undefined,
    });
    await clock.drain();
    expect(errors).toEqual([expect.stringMatching(/also when the request was retried alone: out of order$/)]);
    expect(logger.lines.map(({ message }) => message)).toContain(
      "instance 'm_0' of model 'm' version 1 could not be disposed after its loss: not disposed",
    );
    expect(group.status()).toMatchObject([{ state: "ready", replacements: 2 }]);
  });
});

it("outputs that are no numbers are counted over all instances of a slot", async () => {
  const answers = [0, 2, 1];
  const fixture = await start({
    onExecute: () => ({ kind: "complete", nonFiniteOutputs: answers.shift() ?? 0 }),
  });
  const counted: (number | undefined)[] = [];
  for (let round = 0; round < 3; round += 1) {
    fixture.send();
    await fixture.clock.drain();
    counted.push(fixture.group.status()[0]?.nonFiniteOutputs);
  }
  expect(counted).toEqual([undefined, 2, 3]);
});
