import { InferenceError } from "@naiad/protocol";
import { ENDPOINT_KINDS, LOST, pairedEndpoints } from "@naiad/testing";
import { releaseProxy, wrap } from "comlink";
import { afterEach, describe, expect, it } from "vitest";
import { comlinkEndpoint } from "./comlink-endpoint.ts";
import { exposeControl, wrapControl } from "./control.ts";

interface DemoControl {
  greet(name: string, options: { readonly loud: boolean }): Promise<string>;
  refuse(kind: "inference" | "plain" | "sync"): Promise<never>;
  attach(kind: string, port: MessagePort): Promise<string>;
  openPort(): Promise<MessagePort>;
  load(name: string, signal: AbortSignal): Promise<string>;
  unclonable(): Promise<unknown>;
}

class DemoControlled implements DemoControl {
  readonly #greeting = "hello";
  readonly signals: AbortSignal[] = [];
  ports: MessagePort[] = [];

  greet(name: string, { loud }: { readonly loud: boolean }): Promise<string> {
    return Promise.resolve(`${this.#greeting} ${loud ? name.toUpperCase() : name}`);
  }
  refuse(kind: "inference" | "plain" | "sync"): Promise<never> {
    const error = new InferenceError("ALREADY_EXISTS", "there is one");
    if (kind === "sync") throw error;
    return Promise.reject(kind === "plain" ? new TypeError("oops") : error);
  }
  attach(kind: string, port: MessagePort): Promise<string> {
    this.ports.push(port);
    port.postMessage(`attached as ${kind}`);
    return Promise.resolve("done");
  }
  openPort(): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel();
    this.ports.push(port1);
    port1.postMessage("from inside");
    return Promise.resolve(port2);
  }
  load(name: string, signal: AbortSignal): Promise<string> {
    this.signals.push(signal);
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        resolve(`${name} is loaded too late`);
      });
    });
  }
  unclonable(): Promise<unknown> {
    return Promise.resolve(() => undefined);
  }
}

describe.each(ENDPOINT_KINDS)("control over $name", ({ open }) => {
  let end: () => void = () => undefined;

  function connect(versions: { readonly ours: number; readonly theirs: number } = { ours: 1, theirs: 1 }) {
    const { left, right } = open();
    const controlled = new DemoControlled();
    const lost = new AbortController();
    const stop = exposeControl<DemoControl>(controlled, right, { wireVersion: versions.theirs });
    const control = wrapControl<DemoControl>(left, {
      peer: "host worker",
      wireVersion: versions.ours,
      lost: lost.signal,
    });
    end = () => {
      for (const port of controlled.ports) port.close();
      right.kill();
      left.kill();
    };
    return { control, controlled, lost, stop, left, right };
  }

  afterEach(() => {
    end();
  });

  it("calls methods with their own `this`", async () => {
    const { control } = connect();
    expect(await control.greet("ada", { loud: true })).toBe("hello ADA");
  });

  it("can itself be awaited", async () => {
    const { control } = connect();
    expect(await Promise.resolve(control)).toBe(control);
  });

  it.each(["inference", "sync"] as const)("keeps the code of an error (%s)", async (kind) => {
    const { control } = connect();
    const refusal = control.refuse(kind);
    await expect(refusal).rejects.toBeInstanceOf(InferenceError);
    await expect(refusal).rejects.toMatchObject({ code: "ALREADY_EXISTS", message: "there is one" });
  });

  it("makes any other error INTERNAL", async () => {
    const { control } = connect();
    await expect(control.refuse("plain")).rejects.toMatchObject({ code: "INTERNAL", message: "oops" });
  });

  it("rejects an unknown method", async () => {
    const { control } = connect();
    const newer = control as unknown as {
      readonly fly: () => Promise<void>;
      readonly valueOf: () => unknown;
    };
    await expect(newer.fly()).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(newer.valueOf()).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("transfers ports among arguments and as an answer", async () => {
    const { control } = connect();
    const { port1, port2 } = new MessageChannel();
    const heard = nextMessage(port1);
    expect(await control.attach("client", port2)).toBe("done");
    expect(await heard).toBe("attached as client");
    const opened = await control.openPort();
    expect(await nextMessage(opened)).toBe("from inside");
    port1.close();
    opened.close();
  });

  it("brings an AbortSignal across and rejects at once when it fires", async () => {
    const { control, controlled } = connect();
    const controller = new AbortController();
    const load = control.load("m", controller.signal);
    await expect.poll(() => controlled.signals.length).toBe(1);
    expect(controlled.signals[0]?.aborted).toBe(false);
    controller.abort();
    await expect(load).rejects.toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => controlled.signals[0]?.aborted).toBe(true);
    await expect(control.load("m", AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    expect(controlled.signals.length).toBe(1);
  });

  it("ends every pending and later call when the other side is lost", async () => {
    const { control, controlled, lost, right } = connect();
    const load = control.load("m", new AbortController().signal);
    await expect.poll(() => controlled.signals.length).toBe(1);
    right.kill();
    const unheard = control.greet("ada", { loud: false });
    lost.abort(LOST);
    await expect(load).rejects.toBe(LOST);
    await expect(unheard).rejects.toBe(LOST);
    await expect(control.greet("ada", { loud: false })).rejects.toBe(LOST);
  });

  it("names the other side when the loss gives no reason", async () => {
    const { control, lost } = connect();
    lost.abort();
    await expect(control.openPort()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "host worker is gone",
    });
  });

  it("says so when the two sides speak different wire versions", async () => {
    const { control } = connect({ ours: 2, theirs: 1 });
    await expect(control.greet("ada", { loud: false })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^host worker speaks wire version 1, this side 2: /) as string,
    });
  });

  it("rejects what cannot be cloned, in both directions, and goes on", async () => {
    const { control } = connect();
    const bad = (() => "") as unknown as string;
    await expect(control.greet(bad, { loud: false })).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(control.unclonable()).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await control.greet("ada", { loud: false })).toBe("hello ada");
  });

  it("ends pending and later calls when the exposing side stops", async () => {
    const { control, controlled, stop } = connect();
    const load = control.load("m", new AbortController().signal);
    await expect.poll(() => controlled.signals.length).toBe(1);
    stop();
    await expect(load).rejects.toMatchObject({ code: "UNAVAILABLE", message: "host worker has stopped" });
    await expect(control.openPort()).rejects.toMatchObject({ message: "host worker has stopped" });
    expect(controlled.signals[0]?.aborted).toBe(true);
  });
});

describe("control", () => {
  it.each(["request", "answer"] as const)("does not hang on an unreadable %s", async (what) => {
    const { left, right } = pairedEndpoints();
    exposeControl<DemoControl>(new DemoControlled(), right, { wireVersion: 1 });
    const lost = new AbortController();
    const control = wrapControl<DemoControl>(left, {
      peer: "host worker",
      wireVersion: 1,
      lost: lost.signal,
    });
    (what === "request" ? right : left).garbleNext();
    await expect(control.greet("ada", { loud: false })).rejects.toMatchObject({
      code: "INTERNAL",
      message: "a message between this side and host worker could not be read",
    });
    expect(await control.greet("ada", { loud: false })).toBe("hello ada");
  });

  it("outlives another proxy on the same endpoint that Comlink releases", async () => {
    const { left, right } = pairedEndpoints();
    exposeControl<DemoControl>(new DemoControlled(), right, { wireVersion: 1 });
    wrap(comlinkEndpoint(left))[releaseProxy]();
    await new Promise((resolve) => setImmediate(resolve));
    const lost = new AbortController().signal;
    const control = wrapControl<DemoControl>(left, { peer: "host worker", wireVersion: 1, lost });
    expect(await control.greet("ada", { loud: false })).toBe("hello ada");
  });

  it("leaves no listener behind", () => {
    const { left, right } = pairedEndpoints();
    const stop = exposeControl<DemoControl>(new DemoControlled(), right, { wireVersion: 1 });
    const lost = new AbortController();
    wrapControl<DemoControl>(left, { peer: "host worker", wireVersion: 1, lost: lost.signal });
    lost.abort(LOST);
    stop();
    expect([left.listenerCount, right.listenerCount]).toEqual([0, 0]);
  });
});

function nextMessage(port: MessagePort): Promise<unknown> {
  return new Promise((resolve) => {
    port.addEventListener(
      "message",
      (event) => {
        resolve(event.data);
      },
      { once: true },
    );
    port.start();
  });
}
