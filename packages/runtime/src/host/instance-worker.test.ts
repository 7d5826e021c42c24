import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { CPU, GPU, LIMITS, now, REQUEST, setUp, TENSOR, TIMES } from "../../test/scripted-workers.ts";
import type { Placed } from "./instance-workers.ts";

/** For a property of a larger expectation. */
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

describe("createInstanceWorkers: executing", () => {
  it("gives the worker's answer", async () => {
    const { create } = setUp();
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST, REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [{ kind: "response" }, { kind: "response" }],
      times: TIMES,
      nonFiniteOutputs: 0,
    });
  });

  it("gives every request the error of a call that failed as a whole", async () => {
    const error = new InferenceError("INTERNAL", "out of luck");
    const { create } = setUp((_worker, call) => (call === "execute" ? { kind: "fail", error } : undefined));
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST, REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [
        { kind: "error", error: { code: "INTERNAL", message: "out of luck" } },
        { kind: "error", error: { code: "INTERNAL", message: "out of luck" } },
      ],
    });
  });

  it("passes a fault point before each execution", async () => {
    const passed: string[] = [];
    const { create } = setUp(() => undefined, {
      fault: (point, detail) => {
        if (point !== "host.before-dispatch") return;
        passed.push(detail);
        throw new InferenceError("INTERNAL", "armed");
      },
    });
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [{ kind: "error", error: { message: "armed" } }],
    });
    expect(passed).toEqual(["a"]);
  });

  it("ends a hung worker: its run is to blame, its neighbour's is not, and both hear at once", async () => {
    const { create, clock, spawned } = setUp((_worker, call, id) =>
      call === "execute" && id === "a" ? { kind: "hang" } : undefined,
    );
    const [a, b] = [await create(GPU, "a"), await create(GPU, "b")];
    const [hung, innocent] = [a.execute([REQUEST], []), b.execute([REQUEST], [])];
    await clock.advance(99e6);
    expect(await now(clock, innocent)).toBe("pending");
    await clock.advance(2e6);
    const reason = "instance worker gpu:0 was ended: an execution did not end within 100 ms";
    expect(await now(clock, hung)).toEqual({ kind: "lost", reason, culprit: true });
    expect(await now(clock, innocent)).toEqual({ kind: "lost", reason, culprit: false });
    expect(await now(clock, a.lost)).toBe(reason);
    expect(await now(clock, b.lost)).toBe(reason);
    expect(spawned[0]?.terminated).toBe(true);

    await create(GPU, "c");
    expect(spawned).toHaveLength(2);
    expect(await b.execute([REQUEST], [])).toMatchObject({ kind: "lost", culprit: false });
  });

  it("ends a worker whose event loop has stopped: the execution that found it idle is to blame", async () => {
    const { create, clock } = setUp((_worker, call) => (call === "execute" ? { kind: "freeze" } : undefined));
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.advance(101e6);
    expect(await now(clock, result)).toMatchObject({ kind: "lost", culprit: true });
  });

  it("drops what a worker answers after it was given up", async () => {
    const { create, clock } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 150 } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.advance(1000e6);
    expect(await now(clock, result)).toMatchObject({ kind: "lost", culprit: true });
  });

  it("hears of a crash through the worker's error", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.settle();
    spawned[0]?.crash("RuntimeError: unreachable");
    expect(await now(clock, result)).toEqual({
      kind: "lost",
      reason: "instance worker cpu:m_0 was ended: RuntimeError: unreachable",
      culprit: true,
    });
  });

  it("hears of a worker that says goodbye, and counts its runs as lost", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(GPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.settle();
    spawned[0]?.sayGoodbye("the GPU was lost");
    expect(await now(clock, result)).toMatchObject({
      kind: "lost",
      reason: matching(/the GPU was lost/),
    });
    expect(await now(clock, instance.lost)).toMatch(/the GPU was lost/);
  });

  it("hears of a worker that the platform ended through its lock", async () => {
    const { create, clock, deaths, spawned } = setUp();
    const instance = await create(CPU, "a");
    deaths.get("w1")?.();
    expect(await now(clock, instance.lost)).toMatch(/the platform ended it/);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: tensors in a worker's memory", () => {
  it("are read by the worker that has them, and disposed behind what was asked before", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 5 } : undefined,
    );
    const other = await create({ ...GPU, workerKey: "gpu:1" }, "a");
    const instance = await create(GPU, "b");
    const tensor = { ...TENSOR, worker: "w2" };
    expect([other, instance].map(({ deviceMemory }) => deviceMemory.worker)).toEqual(["w1", "w2"]);
    const execution = instance.execute([REQUEST], []);
    const bytes = pool.read(tensor);
    await clock.advance(5e6);
    expect(await bytes).toEqual(Uint8Array.of(7));
    await execution;
    instance.deviceMemory.dispose(tensor);
    await clock.settle();
    expect(spawned[1]?.calls).toEqual(["start ", "create b", "execute b", "read 7", "dispose 7"]);
    expect(spawned[0]?.calls).toEqual(["start ", "create a"]);
  });

  it("are lost with it", async () => {
    const { pool, create, clock, spawned } = setUp();
    const instance = await create(GPU, "a");
    expect(instance.deviceMemory.isLost).toBe(false);
    spawned[0]?.crash("out of memory");
    await clock.settle();
    expect(instance.deviceMemory.isLost).toBe(true);
    instance.deviceMemory.dispose(TENSOR);
    await expect(pool.read(TENSOR)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(spawned[0]?.calls).toEqual(["start ", "create a"]);
  });

  it("end a worker that hangs when it is to read one", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "read" ? { kind: "hang" } : undefined,
    );
    await create(GPU, "a");
    const bytes = pool.read(TENSOR).catch((thrown: unknown) => InferenceError.from(thrown).message);
    await clock.advance(1000e6);
    expect(await bytes).toMatch(/did not begin what it was asked for within 1000 ms/);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: asking whether a model is ready", () => {
  const JAVASCRIPT: Placed = {
    engine: "javascript",
    workerKey: "javascript:m_0:0123456789abcdef",
    label: "javascript:m_0",
    device: { kind: "cpu", threads: 1 },
  };
  const textOf = (promise: Promise<void>): Promise<string> =>
    promise.then(
      () => "ready",
      (thrown: unknown) => InferenceError.from(thrown).message,
    );

  it("ends a worker whose model never comes back from it; a request that came meanwhile is innocent", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "ready" || call === "execute" ? { kind: "freeze" } : undefined,
    );
    const instance = await create(JAVASCRIPT, "a", { ...LIMITS, runMs: 60_000 });
    const ready = textOf(instance.checkReady());
    await clock.advance(2000e6);
    const request = instance.execute([REQUEST], []);
    await clock.advance(3000e6);
    expect(await ready).toBe(
      "instance worker javascript:m_0 was ended: isReady() did not end within 5000 ms",
    );
    expect(await request).toMatchObject({ kind: "lost", culprit: false });
    expect(spawned[0]?.terminated).toBe(true);
    expect(clock.timerCount).toBe(0);
  });

  it("keeps a worker whose model only does not answer, or that is busy with something else", async () => {
    const { create, clock, spawned } = setUp((_worker, call, instanceId) => {
      if (call === "ready") return instanceId === "a" ? { kind: "hang" } : undefined;
      return call === "execute" ? { kind: "after", ms: 9000 } : undefined;
    });
    const instance = await create(JAVASCRIPT, "a", { ...LIMITS, runMs: 60_000 });
    const waiting = textOf(instance.checkReady());
    await clock.advance(5000e6);
    expect(await waiting).toMatch(/javascript:m_0 did not say within 5000 ms whether its model is ready/);
    const request = instance.execute([REQUEST], []);
    const busy = textOf(instance.checkReady());
    await clock.advance(9000e6);
    expect(await busy).toMatch(/did not say within 5000 ms/);
    expect(await request).toMatchObject({ kind: "completed" });
    expect(spawned[0]?.terminated).toBe(false);
  });
});
