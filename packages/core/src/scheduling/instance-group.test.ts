import { InferenceError } from "@naiad/protocol";
import type { FakeBackendOptions, FakeClock, SchedulerFixture } from "@naiad/testing";
import {
  answerTexts,
  createCollectingLogger,
  createFakeBackend,
  createFakeClock,
  createSchedulerFixture,
  executedIds,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { InstancePlacement, ModelInstance } from "../ports.ts";
import type { InstanceGroup } from "./instance-group.ts";
import { startInstanceGroup } from "./instance-group.ts";
import { QueuedRequest } from "./queued-request.ts";
import { REPLACEMENT } from "./replacement-policy.ts";

const MS = 1_000_000;
const SECOND = 1_000 * MS;

const BATCHING = `
  name: "m" backend: "fake" max_batch_size: 8
  input { name: "X" data_type: TYPE_FP32 dims: [1] }
  output { name: "Y" data_type: TYPE_FP32 dims: [1] }
  dynamic_batching { }`;

function start(
  options: Partial<FakeBackendOptions> & { instances?: number; onChange?: () => void } = {},
): Promise<SchedulerFixture> {
  return createSchedulerFixture({ latencyNs: 10 * MS, ...options, config: BATCHING });
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
      completed: () => undefined,
      responded: () => Promise.resolve(),
      ended: () => undefined,
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

describe("an instance that cannot be replaced", () => {
  const failing: Partial<FakeBackendOptions> = {
    onCreate: (_, generation) =>
      generation >= 1 && generation <= REPLACEMENT.maxAttempts
        ? { kind: "fail", error: new InferenceError("INTERNAL", "no memory") }
        : { kind: "create" },
    onExecute: ({ generation }) =>
      generation === 0 ? { kind: "lose", culprit: true } : { kind: "complete" },
  };

  it("is given up after some attempts, further and further apart; waiting requests are told why", async () => {
    let changes = 0;
    const fixture = await start({ ...failing, onChange: () => (changes += 1) });
    const changesAtStart = changes;
    const sent = fixture.sendMany(3);
    await fixture.clock.drain();

    const text = "UNAVAILABLE model 'm' has no working instance: no memory";
    expect(answerTexts(sent)).toEqual([text, text, text]);
    expect(fixture.backend.creationCount).toBe(1 + REPLACEMENT.maxAttempts);
    expect(fixture.clock.nowNs()).toBe((10 + 100 + 200 + 400 + 800) * MS);
    expect(fixture.group.status()).toMatchObject([{ state: "lost", note: "no memory" }]);
    expect(changes).toBeGreaterThan(changesAtStart);
  });

  it("refuses new requests at once, and tries again for one that comes much later", async () => {
    const fixture = await start(failing);
    fixture.send();
    await fixture.clock.drain();
    expect(() => fixture.send()).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));

    await fixture.clock.advance(REPLACEMENT.reviveAfterNs);
    const request = fixture.send();
    await fixture.clock.drain();
    expect(answerTexts([request])).toEqual(["response"]);
    expect(fixture.group.status()).toMatchObject([{ state: "ready" }]);
  });

  it("does not stop the model as long as another instance works", async () => {
    const fixture = await start({
      instances: 2,
      onCreate: ({ instanceName }, generation) =>
        instanceName === "m_0" && generation > 0
          ? { kind: "fail", error: new InferenceError("INTERNAL", "no memory") }
          : { kind: "create" },
    });
    fixture.backend.lose("m_0");
    await fixture.clock.drain();
    const sent = fixture.sendMany(3);
    await fixture.clock.drain();
    expect(answerTexts(sent)).toEqual(["response", "response", "response"]);
    expect(fixture.group.status().map(({ state }) => state)).toEqual(["lost", "ready"]);
  });

  it("counts instances that die young without having worked, not those that have lived", async () => {
    const young = await start();
    for (let loss = 0; loss < REPLACEMENT.maxAttempts; loss += 1) {
      young.backend.lose("m_0");
      await young.clock.drain();
    }
    expect(young.group.status()).toMatchObject([{ state: "lost" }]);

    const old = await start();
    for (let loss = 0; loss < 2 * REPLACEMENT.maxAttempts; loss += 1) {
      await old.clock.advance(REPLACEMENT.youngNs);
      old.backend.lose("m_0");
      await old.clock.drain();
    }
    expect(old.group.status()).toMatchObject([{ state: "ready", replacements: 2 * REPLACEMENT.maxAttempts }]);
  });
});

describe("starting", () => {
  it("makes all instances", async () => {
    const fixture = await start({ instances: 3 });
    expect(fixture.group.status().map(({ instanceName, state }) => `${instanceName} ${state}`)).toEqual([
      "m_0 ready",
      "m_1 ready",
      "m_2 ready",
    ]);
  });

  it("rejects with the first error after disposing the others", async () => {
    const clock = createFakeClock();
    const backend = createFakeBackend({
      clock,
      onCreate: ({ instanceName }) => {
        if (instanceName === "m_1")
          return { kind: "fail", latencyNs: 5 * MS, error: new InferenceError("UNSUPPORTED", "not here") };
        return { kind: "create", latencyNs: instanceName === "m_0" ? MS : SECOND };
      },
    });
    const starting = startInstanceGroup({ ...groupOptions(clock, 3), create: backend.create }).catch(
      (error: unknown) => error,
    );
    await clock.drain();
    expect(await starting).toMatchObject({ code: "UNSUPPORTED", message: "not here" });
    expect(clock.nowNs()).toBe(5 * MS);
    expect(backend.liveCount).toBe(0);
  });

  it("creates each instance with a signal of its own, however many there are", async () => {
    const clock = createFakeClock();
    const backend = createFakeBackend({ clock });
    const signals = new Set<AbortSignal>();
    const group = await startInstanceGroup({
      ...groupOptions(clock, 12),
      create: (placement, signal) => {
        signals.add(signal);
        return backend.create(placement, signal);
      },
    });
    expect(signals.size).toBe(12);
    await group.dispose();
  });

  it("can be aborted", async () => {
    const clock = createFakeClock();
    const backend = createFakeBackend({ clock, onCreate: () => ({ kind: "create", latencyNs: SECOND }) });
    const controller = new AbortController();
    const starting = startInstanceGroup({
      ...groupOptions(clock),
      create: backend.create,
      signal: controller.signal,
    }).catch((error: unknown) => error);
    await clock.advance(MS);
    controller.abort();
    expect(await starting).toMatchObject({ code: "CANCELLED" });
    expect(backend.liveCount).toBe(0);
    expect(clock.timerCount).toBe(0);
  });
});

describe("handing out work", () => {
  it("gives instances work in turn", async () => {
    const fixture = await start({ instances: 3 });
    for (let index = 0; index < 6; index += 1) {
      fixture.send();
      await fixture.clock.advance(20 * MS);
    }
    expect(fixture.backend.executions.map(({ instanceName }) => instanceName)).toEqual([
      "m_0",
      "m_1",
      "m_2",
      "m_0",
      "m_1",
      "m_2",
    ]);
  });
});

describe("disposing", () => {
  it("waits for what is executing and frees everything", async () => {
    const fixture = await start({ instances: 2 });
    const request = fixture.send();
    const disposing = disposed(fixture.group);
    await fixture.clock.advance(9 * MS);
    expect(disposing.done).toBe(false);
    await fixture.clock.advance(MS);
    expect(disposing.done).toBe(true);
    expect(answerTexts([request])).toEqual(["response"]);
    expect(fixture.backend.liveCount).toBe(0);
    await fixture.group.dispose();
  });

  it("ends a replacement under way and answers what waited for it", async () => {
    const fixture = await start({
      onExecute: () => ({ kind: "lose", culprit: true }),
      onCreate: (_, generation) => ({ kind: "create", latencyNs: generation === 0 ? 0 : SECOND }),
    });
    const request = fixture.send();
    await fixture.clock.advance(20 * MS);
    await fixture.group.dispose();
    expect(answerTexts([request])).toEqual([
      "UNAVAILABLE model 'm' was unloaded before the request was executed",
    ]);
    expect(fixture.backend.liveCount).toBe(0);
    expect(fixture.clock.timerCount).toBe(0);
  });

  it("ends the wait before the next attempt", async () => {
    const fixture = await start({
      onCreate: (_, generation) =>
        generation === 0 ? { kind: "create" } : { kind: "fail", error: new InferenceError("INTERNAL", "no") },
    });
    fixture.backend.lose("m_0");
    await fixture.clock.advance(MS);
    expect(fixture.clock.timerCount).toBe(1);
    await fixture.group.dispose();
    expect(fixture.clock.timerCount).toBe(0);
  });
});

function groupOptions(clock: FakeClock, count = 1): Omit<Parameters<typeof startInstanceGroup>[0], "create"> {
  return {
    modelName: "m",
    version: 1,
    placements: Array.from({ length: count }, (_, index): InstancePlacement => ({
      instanceName: `m_${index}`,
      device: { kind: "cpu", threads: 1 },
      workerKey: String(index),
    })),
    clock,
    logger: createCollectingLogger(),
    signal: new AbortController().signal,
  };
}

function disposed(group: InstanceGroup): { readonly done: boolean } {
  const state = { done: false };
  void group.dispose().then(() => {
    state.done = true;
  });
  return state;
}

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
