import { InferenceError } from "@naiad/protocol";
import { ENDPOINT_KINDS, LOST, collect, connectDemo, pairedEndpoints } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { connect } from "../test/connect.ts";
import type { CallShape, Channel, EmptyContract } from "./types.ts";

interface AnyContract extends EmptyContract {
  readonly calls: Record<string, CallShape>;
}

describe.each(ENDPOINT_KINDS)("channel over $name", ({ open }) => {
  it("answers calls, also many at once", async () => {
    const { asking } = connect(open());
    const answers = await Promise.all([1, 2, 3].map((n) => asking.call("double", new Uint8Array([n]))));
    expect(answers.map((answer) => [...answer])).toEqual([[2], [4], [6]]);
  });

  it("copies the input unless it is given away", async () => {
    const { asking } = connect(open());
    const kept = new Uint8Array([5]);
    const given = new Uint8Array([6]);
    await asking.call("double", kept);
    await asking.call("double", given, { transfer: [given.buffer] });
    expect([kept.byteLength, given.byteLength]).toEqual([1, 0]);
  });

  it.each(["async", "sync"] as const)("brings an InferenceError across (%s)", async (kind) => {
    const { asking } = connect(open());
    const failure = asking.call("fail", kind);
    await expect(failure).rejects.toBeInstanceOf(InferenceError);
    await expect(failure).rejects.toMatchObject({ code: "NOT_FOUND", message: "no such thing" });
  });

  it("brings across after which time to try again", async () => {
    const { asking } = connect(open());
    await expect(asking.call("fail", "too early")).rejects.toMatchObject({ retryAfterSecs: 1.5 });
    await expect(asking.call("fail", "async")).rejects.toMatchObject({ retryAfterSecs: undefined });
  });

  it("makes any other error INTERNAL", async () => {
    const { asking } = connect(open());
    await expect(asking.call("fail", "plain")).rejects.toMatchObject({ code: "INTERNAL", message: "oops" });
  });

  it.each(["nothing", "constructor", "toString"])(
    "answers an unknown call %j with an error",
    async (name) => {
      const { asking } = connect(open());
      // A peer of another version may ask for anything.
      const loose = asking as unknown as Channel<AnyContract>;
      await expect(loose.call(name, undefined)).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: `the other side does not know '${name}'`,
      });
    },
  );

  it("rejects what cannot be sent and goes on", async () => {
    const { asking } = connect(open());
    const functionInside = { readonly: () => 0 } as unknown as Uint8Array;
    await expect(asking.call("double", functionInside)).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringContaining("cannot send to demo server") as string,
    });
    await expect(asking.call("unclonable", null)).rejects.toMatchObject({ code: "INTERNAL" });
    expect([...(await asking.call("double", new Uint8Array([1])))]).toEqual([2]);
  });

  it("rejects a call at once when its signal fires, tells the handler, and drops the late answer", async () => {
    const { asking, server } = connect(open());
    const controller = new AbortController();
    const call = asking.call("wait", null, { signal: controller.signal });
    await expect.poll(() => server.signals.length).toBe(1);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => server.signals[0]?.aborted).toBe(true);
    server.answerWaiting("too late");
    await asking.call("double", new Uint8Array());
  });

  it("does not send a call whose signal has fired already", async () => {
    const { asking, server } = connect(open());
    await expect(asking.call("wait", null, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "CANCELLED",
    });
    await asking.call("double", new Uint8Array());
    expect(server.signals).toEqual([]);
  });

  it("leaves no listener on a signal after the call or stream", async () => {
    const { asking } = connect(open());
    const signal = new CountingSignal();
    await asking.call("double", new Uint8Array(), { signal: signal.asSignal });
    await expect(asking.call("fail", "async", { signal: signal.asSignal })).rejects.toThrow();
    await collect(asking.stream("count", { to: 3 }, { signal: signal.asSignal }));
    for await (const value of asking.stream("count", { to: 3 }, { signal: signal.asSignal })) {
      if (value === 1) break;
    }
    expect([signal.added, signal.listeners]).toEqual([4, 0]);
  });

  it("delivers notes in order and ignores foreign messages", async () => {
    const { asking, server, left } = connect(open());
    asking.notify("mark", "a");
    for (const foreign of [null, 7, "call", { kind: "call" }, ["hello"], []]) left.postMessage(foreign, []);
    asking.notify("mark", "b");
    await expect.poll(() => server.marks).toEqual(["a", "b"]);
  });

  it("refuses a note that cannot be cloned", () => {
    const { asking } = connect(open());
    expect(() => {
      asking.notify("mark", (() => "") as unknown as string);
    }).toThrow("cannot send to demo server");
  });

  it("closes when a note's handler throws", async () => {
    const { asking, answering } = connect(open());
    asking.notify("explode", null);
    expect(await answering.closed).toMatchObject({ code: "INTERNAL", message: "bad note" });
    expect(await asking.closed).toMatchObject({ message: "demo server closed the connection: bad note" });
  });

  it("ends everything pending with the reason of close, and everything asked later", async () => {
    const { asking, server, left } = connect(open());
    const call = asking.call("wait", null);
    const stream = asking.stream("silence", null)[Symbol.asyncIterator]().next();
    await expect.poll(() => server.signals.length).toBe(1);
    asking.close(LOST);
    asking.close(new InferenceError("INTERNAL", "second reason"));
    await expect(call).rejects.toBe(LOST);
    await expect(stream).rejects.toBe(LOST);
    await expect(asking.call("wait", null)).rejects.toBe(LOST);
    await expect(asking.stream("silence", null)[Symbol.asyncIterator]().next()).rejects.toBe(LOST);
    expect(await asking.closed).toBe(LOST);
    asking.notify("mark", "goes nowhere");
    if ("listenerCount" in left) expect(left.listenerCount).toBe(0);
  });

  it("says goodbye: the other side's calls end and its handlers' signals fire", async () => {
    const { asking, answering, server } = connect(open());
    const call = asking.call("wait", null);
    await expect.poll(() => server.signals.length).toBe(1);
    answering.close(new InferenceError("UNAVAILABLE", "server is stopping"));
    await expect(call).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "demo server closed the connection: server is stopping",
    });
    expect(await asking.closed).toMatchObject({ code: "UNAVAILABLE" });
    expect(server.signals[0]?.aborted).toBe(true);
    server.answerWaiting("too late");
  });

  it("fires the signals of running handlers when the asking side leaves", async () => {
    const { asking, answering, server } = connect(open());
    asking.call("wait", null).catch(() => undefined);
    const reading = collect(asking.stream("count", { to: Infinity }, { credits: 1 }));
    await expect.poll(() => server.signals.length).toBe(2);
    asking.close(LOST);
    await expect(reading).rejects.toBe(LOST);
    await answering.closed;
    expect(server.signals.map((signal) => signal.aborted)).toEqual([true, true]);
    await expect.poll(() => server.closedStreams).toBe(1);
  });
});

describe("channel", () => {
  it("does not even send the late answer of a cancelled call", async () => {
    const pair = pairedEndpoints({ delivery: "manual" });
    const { asking, server } = connectDemo(pair);
    const controller = new AbortController();
    const call = asking.call("wait", null, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    while (pair.step());
    server.answerWaiting("too late");
    await new Promise((resolve) => setImmediate(resolve));
    expect(pair.left.incomingCount).toBe(0);
  });

  it("closes both sides when a message cannot be read", async () => {
    const { left, right } = pairedEndpoints();
    const { asking, answering } = connectDemo({ left, right });
    right.garbleNext();
    const call = asking.call("double", new Uint8Array());
    await expect(call).rejects.toMatchObject({
      code: "INTERNAL",
      message: "demo server closed the connection: a message from demo client could not be read",
    });
    expect(await answering.closed).toMatchObject({ code: "INTERNAL" });
  });

  it("does not let an answer that cannot be read hang the call", async () => {
    const { left, right } = pairedEndpoints();
    const { asking } = connectDemo({ left, right });
    left.garbleNext();
    await expect(asking.call("double", new Uint8Array())).rejects.toMatchObject({
      message: "a message from demo server could not be read",
    });
  });
});

/** Knows how many listeners it has. */
class CountingSignal {
  readonly #controller = new AbortController();
  added = 0;
  listeners = 0;

  get asSignal(): AbortSignal {
    const { signal } = this.#controller;
    return {
      aborted: false,
      reason: undefined,
      addEventListener: () => {
        this.added += 1;
        this.listeners += 1;
      },
      removeEventListener: () => {
        this.listeners -= 1;
      },
      onabort: signal.onabort,
      dispatchEvent: () => true,
      throwIfAborted: () => undefined,
    };
  }
}
