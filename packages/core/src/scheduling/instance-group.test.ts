import { InferenceError } from "@naiad/protocol";
import type { FakeBackendOptions } from "@naiad/testing";
import { answerTexts, createFakeBackend, createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { givingUp, groupOptions, start } from "../../test/replaced-instances.ts";
import type { InstanceGroup } from "./instance-group.ts";
import { REPLACEMENT } from "./replacement-policy.ts";
import { startInstanceGroup } from "./start-instance-group.ts";

const MS = 1_000_000;
const SECOND = 1_000 * MS;

function disposed(group: InstanceGroup): { readonly done: boolean } {
  const state = { done: false };
  void group.dispose().then(() => {
    state.done = true;
  });
  return state;
}

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
      onCreate: givingUp("m_0"),
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
