import type { BytesTensor, ServerEvent } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { EXCHANGE, OUTPUT, REQUEST, setUp, START } from "../../test/host-world.ts";
import { deferred } from "./deferred.ts";

describe("createHost: its life", () => {
  it("holds its lock before it tells who it is", async () => {
    const { host, locks } = setUp();
    const info = await host.start(START);
    expect(info).toMatchObject({ hostId: "host-1", wireVersion: WIRE_VERSION });
    expect(locks.heldNames()).toEqual([aliveLock("host-1")]);
  });

  it("writes what the page has to say into its log", async () => {
    const { host, logged } = setUp();
    await host.start(START);
    await host.log("warning", "storage may go");
    expect(logged).toEqual(["warning: storage may go"]);
  });

  it("refuses a page of another wire version", async () => {
    const { host, locks } = setUp();
    await expect(host.start({ ...START, wireVersion: 99 })).rejects.toThrow(/different versions of Naiad/);
    await expect(host.ready()).rejects.toThrow(/different versions/);
    expect(locks.heldNames()).toEqual([]);
  });

  it("serves ports while models still load, and tells when they are there", async () => {
    const loading = deferred<undefined>();
    const { host, client } = setUp({ load: () => loading.promise });
    await host.start(START);
    const { channel } = await client();
    expect(await channel.call("serverLive", {})).toEqual({ live: true });
    const ready = host.ready();
    loading.reject(new InferenceError("INTERNAL", "failed to load all models"));
    await expect(ready).rejects.toThrow("failed to load all models");
  });

  it("lets requests wait for the models of the start, but not for ever, and tells its health meanwhile", async () => {
    const loading = deferred<undefined>();
    const { host, client, gateway, clock } = setUp({
      load: () => loading.promise,
      infer: (request) => Promise.resolve({ ...request, outputs: [] }),
      exchange: ({ rawTarget }) =>
        Promise.resolve({ status: 200, headers: [], body: new TextEncoder().encode(rawTarget) }),
    });
    await host.start(START);
    const page = await client();
    const worker = await gateway("g1");
    const settled: string[] = [];
    const note = (what: string, call: Promise<unknown>): void => {
      call.then(
        () => settled.push(what),
        (thrown: unknown) => settled.push(`${what}: ${InferenceError.from(thrown).code}`),
      );
    };
    const abort = new AbortController();
    note("impatient", page.channel.call("modelInfer", REQUEST));
    note("cancelled", page.channel.call("modelInfer", REQUEST, { signal: abort.signal }));
    note("live", page.channel.call("serverLive", {}));
    note("GET live", worker.channel.call("exchange", { ...EXCHANGE, rawTarget: "/v2/health/live" }));
    await clock.advance(5e9);
    abort.abort();
    await clock.settle();
    expect(settled.toSorted()).toEqual(["GET live", "cancelled: CANCELLED", "live"]);
    note("patient", page.channel.call("modelInfer", REQUEST));
    note("POST infer", worker.channel.call("exchange", EXCHANGE));
    await clock.advance(6e9);
    expect(settled.slice(3)).toEqual(["impatient"]);
    loading.resolve(undefined);
    await clock.settle();
    expect(settled.slice(4).toSorted()).toEqual(["POST infer", "patient"]);
    expect(clock.timerCount).toBe(0);
  });

  it("takes ports before it is started", async () => {
    const { host, client } = setUp();
    const attached = client();
    await host.start(START);
    const { channel } = await attached;
    expect(await channel.call("hostInfo", {})).toMatchObject({ hostId: "host-1" });
  });

  it("fails ports when it cannot be built", async () => {
    const { host, client } = setUp({
      compose: () => Promise.reject(new InferenceError("INTERNAL", "no storage")),
    });
    const attached = client();
    attached.catch(() => undefined);
    await expect(host.start(START)).rejects.toThrow("no storage");
    await expect(attached).rejects.toThrow("no storage");
    await expect(host.stop()).resolves.toBeUndefined();
  });

  it("stops: ends loading, sessions and its lock", async () => {
    const { host, client, locks } = setUp({
      load: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reject(InferenceError.from(signal.reason));
          });
        }),
      infer: () => new Promise(() => undefined),
    });
    await host.start(START);
    const { channel, die } = await client();
    const pending = channel.call("modelInfer", REQUEST);
    pending.catch(() => undefined);
    await host.stop();
    await expect(pending).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(host.ready()).rejects.toThrow(/stopping/);
    expect(locks.heldNames()).toEqual([aliveLock("page-1")]);
    die();
    await expect(client("late")).rejects.toThrow(/stopping/);
  });

  it("stops where it never started", async () => {
    const { host, client } = setUp();
    const attached = client();
    attached.catch(() => undefined);
    await host.stop();
    await expect(attached).rejects.toThrow(/stopping/);
  });
});

describe("createHost: clients", () => {
  it("gives results away", async () => {
    const { host, client } = setUp({
      infer: (request) => Promise.resolve({ ...request, outputs: [OUTPUT] }),
    });
    await host.start(START);
    const { channel } = await client();
    const response = await channel.call("modelInfer", REQUEST);
    expect(response.outputs).toMatchObject([{ name: "y", bytes: Uint8Array.of(7, 8) }]);
    expect(OUTPUT.bytes.byteLength).toBe(0);
  });

  it("streams responses, gives them away, and tells the model when the page leaves", async () => {
    const signals: AbortSignal[] = [];
    const outputs = [1, 2, 3].map((byte): BytesTensor => ({
      ...OUTPUT,
      shape: [1],
      bytes: Uint8Array.of(byte),
    }));
    const { host, client, clock } = setUp({
      stream: async (request, { signal }) => {
        signals.push(signal);
        await Promise.resolve();
        return (async function* () {
          for (const output of outputs) yield { ...request, outputs: [output] };
          await new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              reject(InferenceError.from(signal.reason));
            });
          });
        })();
      },
    });
    await host.start(START);
    const { channel } = await client();
    const read: unknown[] = [];
    for await (const { outputs: got } of channel.stream("modelStreamInfer", REQUEST)) {
      read.push(...got.map((tensor) => tensor.kind === "bytes" && tensor.bytes[0]));
      if (read.length === 3) break;
    }
    await clock.settle();
    expect(read).toEqual([1, 2, 3]);
    expect(outputs.map(({ bytes }) => bytes.byteLength)).toEqual([0, 0, 0]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("refuses a stream as the server does", async () => {
    const { host, client } = setUp();
    await host.start(START);
    const { channel } = await client();
    const first = channel.stream("modelStreamInfer", REQUEST)[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({ code: "UNAVAILABLE", message: "not in this test" });
  });

  it("tells events to those who listen, and stops when they leave", async () => {
    const { host, client, listeners, clock } = setUp();
    await host.start(START);
    const { channel } = await client();
    const events = channel.stream("events", {})[Symbol.asyncIterator]();
    const first = events.next();
    await clock.settle();
    const event: ServerEvent = { kind: "log", level: "info", message: "hello", epochMs: 1 };
    for (const listener of listeners) listener(event);
    expect(await first).toEqual({ done: false, value: event });
    await events.return?.();
    await clock.settle();
    expect(listeners.size).toBe(0);
  });

  it("aborts what a dead page still waits for", async () => {
    const signals: AbortSignal[] = [];
    const { host, client, clock } = setUp({
      infer: (_request, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    await host.start(START);
    const { channel, die, right } = await client();
    channel.call("modelInfer", REQUEST).catch(() => undefined);
    await clock.settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    die();
    await clock.settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(right.listenerCount).toBe(0);
  });
});

describe("createHost: gateways", () => {
  const answer = (text: string) => ({
    status: 200,
    headers: [["a", "b"] as const],
    body: new TextEncoder().encode(text),
  });

  it("answers exchanges with bytes of their own", async () => {
    const seen: unknown[] = [];
    const { host, gateway } = setUp({
      exchange: ({ method, rawTarget, body }) => {
        seen.push({ method, rawTarget, body: [...body] });
        return Promise.resolve(answer("hello"));
      },
    });
    await host.start(START);
    const { channel } = await gateway("g1");
    const { status, headers, body } = await channel.call("exchange", EXCHANGE);
    expect({ status, headers }).toEqual({ status: 200, headers: [["a", "b"]] });
    expect(body.kind === "bytes" && new TextDecoder().decode(body.bytes)).toBe("hello");
    expect(seen).toEqual([{ method: "POST", rawTarget: "/v2/models/m/infer", body: [1, 2] }]);
    expect(await channel.call("hostInfo", {})).toMatchObject({ hostId: "host-1" });
  });

  it.each([
    ["application/grpc-web+proto", 200],
    ["application/proto", 200],
    ["application/grpc", 415],
    ["application/grpc+proto", 415],
  ])("answers what a page can send of gRPC: %s is %i", async (contentType, expected) => {
    const targets: string[] = [];
    const { host, gateway } = setUp({
      grpc: ({ rawTarget }) => {
        targets.push(rawTarget);
        return Promise.resolve(answer("from gRPC"));
      },
    });
    await host.start(START);
    const { channel } = await gateway("g1");
    const rawTarget = "/inference.GRPCInferenceService/ServerLive";
    const headers = [["content-type", contentType]] as const;
    const { status } = await channel.call("exchange", { ...EXCHANGE, rawTarget, headers });
    expect(status).toBe(expected);
    expect(targets).toEqual(expected === 200 ? [rawTarget] : []);
  });

  it("keeps a dead gateway's request for the next one, which sends it again", async () => {
    const running = deferred<undefined>();
    const signals: AbortSignal[] = [];
    const { host, gateway, clock } = setUp({
      exchange: async ({ signal }) => {
        signals.push(signal);
        await running.promise;
        return answer("once");
      },
    });
    await host.start(START);
    const first = await gateway("g1");
    first.channel.call("exchange", EXCHANGE).catch(() => undefined);
    await clock.settle();
    first.port.kill();
    first.die();
    await clock.settle();
    const second = await gateway("g2");
    const repeated = second.channel.call("exchange", EXCHANGE);
    await clock.settle();
    running.resolve(undefined);
    expect(await repeated).toMatchObject({ status: 200 });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it("aborts a dead gateway's request that nobody repeats", async () => {
    const signals: AbortSignal[] = [];
    const { host, gateway, clock } = setUp({
      exchange: ({ signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    await host.start(START);
    const { channel, die } = await gateway("g1");
    channel.call("exchange", EXCHANGE).catch(() => undefined);
    await clock.settle();
    die();
    await clock.advance(9e9);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(2e9);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  describe("with a streamed body", () => {
    function streaming() {
      const signals: AbortSignal[] = [];
      const states: string[] = [];
      const set = setUp({
        exchange: ({ signal }) => {
          signals.push(signal);
          signal.addEventListener("abort", () => states.push("aborted"));
          return Promise.resolve({
            status: 200,
            headers: [],
            body: (async function* () {
              try {
                await Promise.resolve();
                yield Uint8Array.of(1);
                yield Uint8Array.of(2, 3).subarray(1);
              } finally {
                states.push("ended");
              }
            })(),
          });
        },
      });
      return { ...set, states, signals };
    }
    async function open({ host, gateway }: ReturnType<typeof streaming>) {
      await host.start(START);
      const { channel } = await gateway("g1");
      const { body } = await channel.call("exchange", EXCHANGE);
      const bodyId = body.kind === "stream" ? body.bodyId : "";
      return { channel, bodyId };
    }

    it("gives the pieces, once", async () => {
      const set = streaming();
      const { channel, bodyId } = await open(set);
      const pieces: number[][] = [];
      for await (const piece of channel.stream("body", { bodyId })) pieces.push([...piece]);
      expect(pieces).toEqual([[1], [3]]);
      const again = channel.stream("body", { bodyId })[Symbol.asyncIterator]();
      await expect(again.next()).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("ends the request when its reader leaves", async () => {
      const set = streaming();
      const { channel, bodyId } = await open(set);
      const pieces = channel.stream("body", { bodyId }, { credits: 1 })[Symbol.asyncIterator]();
      expect([...((await pieces.next()).value as Uint8Array)]).toEqual([1]);
      await pieces.return?.();
      await set.clock.settle();
      expect(set.states.toSorted()).toEqual(["aborted", "ended"]);
    });

    it("ends the request when nobody comes for the body", async () => {
      const set = streaming();
      const { channel, bodyId } = await open(set);
      await set.clock.advance(31e9);
      const late = channel.stream("body", { bodyId })[Symbol.asyncIterator]();
      await expect(late.next()).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(set.signals.map(({ aborted }) => aborted)).toEqual([true]);
      expect(set.clock.timerCount).toBe(0);
    });
  });
});
