import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { Act } from "../../test/scripted-workers.ts";
import { CPU, GPU, live, now, order, REQUEST, setUp, TENSOR } from "../../test/scripted-workers.ts";

/** For a property of a larger expectation. */
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

describe("createInstanceWorkers: starting", () => {
  it("starts a CPU worker with the shared module and the threads of its placement", async () => {
    const { create, spawned } = setUp();
    const instance = await create(CPU, "a");
    expect(instance.device.build).toBe("wasm.js");
    expect(spawned[0]?.start).toMatchObject({ workerId: "w1", ortUrl: "ort/", threads: 4 });
    expect(spawned[0]?.start?.wasmModule).toBeInstanceOf(WebAssembly.Module);
  });

  it.each([
    [true, "jspi.js"],
    [false, "asyncify.js"],
  ])("starts the GPU build for a platform with JSPI: %o", async (hasJspi, build) => {
    const { create, spawned } = setUp(() => undefined, { hasJspi });
    const instance = await create(GPU, "a");
    expect(instance.device.build).toBe(build);
    expect(spawned[0]?.start).not.toHaveProperty("wasmModule");
  });

  it("puts instances with equal keys into one worker, also when they come together", async () => {
    const { pool, spawned } = setUp();
    await Promise.all([
      pool.create(GPU, order("a"), live),
      pool.create(GPU, order("b"), live),
      pool.create(CPU, order("c"), live),
    ]);
    expect(spawned.map(({ calls }) => calls)).toEqual([
      ["start ", "create a", "create b"],
      ["start ", "create c"],
    ]);
  });

  const broken = new InferenceError("INTERNAL", "no WASM here");
  it("replaces a worker that failed to start by one that starts the plain way", async () => {
    const { create, spawned, logger } = setUp(({ number }, call) =>
      call === "start" && number === 0 ? { kind: "fail", error: broken } : undefined,
    );
    await create(CPU, "a");
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, false]);
    expect(spawned[1]?.start).toMatchObject({ threads: 1 });
    expect(spawned[1]?.start).not.toHaveProperty("wasmModule");
    expect(logger.lines[0]?.message).toMatch(/could not start: no WASM here; another worker is started/);
  });

  it("rejects with the reason where no worker starts, and tries afresh the next time", async () => {
    let works = false;
    const { create, spawned } = setUp((_worker, call) =>
      call === "start" && !works ? { kind: "fail", error: broken } : undefined,
    );
    await expect(create(CPU, "a")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: matching(/no WASM here/),
    });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
    works = true;
    await create(CPU, "a");
    expect(spawned).toHaveLength(3);
  });

  it("ends a worker that hangs while it starts", async () => {
    const { pool, clock, spawned } = setUp(() => ({ kind: "hang" }));
    const created = pool.create(CPU, order("a"), live);
    created.catch(() => undefined);
    await clock.advance(2000e6);
    await expect(created).rejects.toThrow(/it did not start within 1000 ms/);
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
  });

  it("hears of a script that does not load", async () => {
    const { pool, clock, spawned } = setUp(() => ({ kind: "hang" }));
    const created = pool.create(CPU, order("a"), live);
    created.catch(() => undefined);
    for (const number of [0, 1]) {
      await clock.settle();
      spawned[number]?.crash("its script could not be loaded");
    }
    await expect(created).rejects.toThrow("its script could not be loaded");
  });
});

describe("createInstanceWorkers: creating", () => {
  const refuse = (error: InferenceError) => (): Act => ({ kind: "fail", error });
  it("rejects with the worker's own error and ends a CPU worker that holds nothing", async () => {
    const error = new InferenceError("INVALID_ARG", "bad model");
    const { create, spawned } = setUp((_worker, call) => (call === "create" ? refuse(error)() : undefined));
    await expect(create(CPU, "a")).rejects.toMatchObject({ code: "INVALID_ARG", message: "bad model" });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true]);
  });

  it.each([
    ["UNSUPPORTED", false],
    ["INTERNAL", true],
  ] as const)("ends a new GPU worker after %s: %o", async (code, ended) => {
    const error = new InferenceError(code, "no");
    const { create, spawned } = setUp((_worker, call) => (call === "create" ? refuse(error)() : undefined));
    await expect(create(GPU, "a")).rejects.toMatchObject({ code });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([ended]);
  });

  it("rejects a create that hangs and loses nobody else's place in line", async () => {
    const { pool, clock, spawned } = setUp((_worker, call, id) =>
      call === "create" && id === "bad" ? { kind: "hang" } : undefined,
    );
    const bad = pool.create(GPU, order("bad"), live);
    bad.catch(() => undefined);
    const good = pool.create(GPU, order("good"), live);
    await clock.advance(1001e6);
    await expect(bad).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: matching(/gpu:0 was ended: loading a model did not end within 1000 ms/),
    });
    await expect(good).resolves.toMatchObject({ device: { build: "jspi.js" } });
    expect(spawned.map(({ calls }) => calls)).toEqual([
      ["start ", "create bad"],
      ["start ", "create good"],
    ]);
  });

  it("gives up an aborted create: alone in its worker, by the worker's end", async () => {
    const { pool, clock, spawned } = setUp((_worker, call) =>
      call === "create" ? { kind: "hang" } : undefined,
    );
    const abort = new AbortController();
    const created = pool.create(CPU, order("a"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("gives up an aborted create: among others, by a release behind it", async () => {
    const { pool, clock, spawned, create } = setUp((_worker, call, id) =>
      call === "create" && id === "b" ? { kind: "after", ms: 50 } : undefined,
    );
    await create(GPU, "a");
    const abort = new AbortController();
    const created = pool.create(GPU, order("b"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    await clock.advance(5000e6);
    expect(spawned[0]?.calls).toEqual(["start ", "create a", "create b", "release b"]);
    expect(spawned[0]?.terminated).toBe(false);
  });

  it("does not begin what was aborted while its worker started", async () => {
    const { pool, clock, spawned } = setUp((_worker, call) =>
      call === "start" ? { kind: "after", ms: 50 } : undefined,
    );
    const abort = new AbortController();
    const created = pool.create(CPU, order("a"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    await clock.advance(100e6);
    expect(spawned[0]?.calls).toEqual(["start "]);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: the end", () => {
  it("ends a CPU worker with its last instance, after the running execution", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 50 } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    const disposed = instance.dispose();
    await clock.advance(40e6);
    expect(spawned[0]?.terminated).toBe(false);
    await clock.advance(20e6);
    await disposed;
    expect(await result).toMatchObject({ kind: "completed" });
    expect(spawned[0]?.terminated).toBe(true);
    expect(await now(clock, instance.lost)).toBe("pending");
    expect(await instance.execute([REQUEST], [])).toMatchObject({ kind: "lost", culprit: false });
  });

  it("disposes once", async () => {
    const { create, spawned } = setUp();
    const instance = await create(GPU, "a");
    await Promise.all([instance.dispose(), instance.dispose()]);
    expect(spawned[0]?.calls.filter((call) => call.startsWith("release"))).toHaveLength(1);
  });

  it("keeps an empty GPU worker for a while", async () => {
    const { create, clock, spawned } = setUp();
    await (await create(GPU, "a")).dispose();
    await clock.advance(9000e6);
    const again = await create(GPU, "b");
    expect(spawned).toHaveLength(1);
    await clock.advance(60_000e6);
    expect(spawned[0]?.terminated).toBe(false);
    await again.dispose();
    await clock.advance(10_000e6);
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("renews an idle GPU worker that holds too much: those who stay are lost, innocent, and come again", async () => {
    const { create, clock, spawned } = setUp();
    const stays = await create(GPU, "stays");
    await (await create(GPU, "a")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(true);
    expect(await now(clock, stays.lost)).toMatch(/renewed to give memory back/);
    await create(GPU, "stays again");
    expect(spawned).toHaveLength(2);
  });

  it("is not renewed while tensors in its memory are to be read", async () => {
    const { create, clock, spawned } = setUp();
    const stays = await create(GPU, "stays");
    await now(clock, stays.execute([{ ...REQUEST, keepOnDevice: ["y"] }], []));
    await (await create(GPU, "a")).dispose();
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    stays.deviceMemory.dispose(TENSOR);
    await clock.settle();
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("lets the rest live when a release fails", async () => {
    const error = new InferenceError("INTERNAL", "cannot");
    const { create, spawned, logger } = setUp((_worker, call) =>
      call === "release" ? { kind: "fail", error } : undefined,
    );
    await create(GPU, "a");
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    expect(logger.lines).toEqual([
      { level: "warning", message: "instance worker gpu:0 could not unload: cannot" },
    ]);
  });

  it("stops everything", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(GPU, "a");
    await create(CPU, "b");
    const result = instance.execute([REQUEST], []);
    pool.stop();
    expect(await now(clock, result)).toMatchObject({
      kind: "lost",
      reason: matching(/the server is stopping/),
      culprit: false,
    });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
    await expect(pool.create(CPU, order("c"), live)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(clock.timerCount).toBe(0);
  });
});
