import { createPortTransport } from "@naiad/client";
import type { Channel } from "@naiad/link";
import type { ClientContract } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { HostLine } from "./host-connection.ts";
import { createHostConnection } from "./host-connection.ts";

const LOSS = new InferenceError("UNAVAILABLE", "the page that ran the server is gone");

/** A host whose calls are answered, refused or left hanging by hand. */
function fakeHost(hostId: string): {
  readonly line: HostLine;
  readonly calls: string[];
  answer: (name: string) => Promise<unknown>;
  die(): void;
} {
  const calls: string[] = [];
  const pending = new Set<(error: InferenceError) => void>();
  let end: (reason: InferenceError) => void = () => undefined;
  const closed = new Promise<InferenceError>((resolve) => {
    end = resolve;
  });
  const close = (reason: InferenceError): void => {
    end(reason);
    for (const reject of pending) reject(reason);
  };
  const host = {
    calls,
    answer: (name: string): Promise<unknown> => Promise.resolve(`${hostId} ${name}`),
    die: () => close(LOSS),
  };
  const call = (name: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      calls.push(name);
      pending.add(reject);
      host.answer(name).then(resolve, reject);
    });
  /** One item, then what the call of that name comes to. */
  const stream = async function* (name: string): AsyncGenerator<string, void> {
    const rest = call(name);
    yield `${hostId} first`;
    await rest;
  };
  // The fake answers whatever it is asked; the contract's types are the caller's.
  const channel = { call, stream, close, closed } as unknown as Channel<ClientContract>;
  return Object.assign(host, { line: { hostId, channel, transport: createPortTransport(channel) } });
}

const never = (): Promise<unknown> => new Promise(() => undefined);
const INFER = { modelName: "m", modelVersion: "", id: "", parameters: {}, inputs: [], outputs: [] };

describe("host connection", () => {
  it("finds a host at the first call only", async () => {
    const host = fakeHost("a");
    let acquired = 0;
    const connection = createHostConnection(() => {
      acquired += 1;
      return Promise.resolve(host.line);
    });
    await Promise.all([connection.call("serverLive", {}), connection.call("serverReady", {})]);
    await connection.call("serverLive", {});
    expect(acquired).toBe(1);
    expect(host.calls).toEqual(["serverLive", "serverReady", "serverLive"]);
  });

  it("sends a pure request once more when the host goes", async () => {
    const first = fakeHost("a");
    const second = fakeHost("b");
    first.answer = never;
    const hosts = [first, second];
    const connection = createHostConnection(() => Promise.resolve((hosts.shift() ?? second).line));
    const answer = connection.call("modelInfer", INFER);
    await connection.line();
    first.die();
    await expect(answer).resolves.toBe("b modelInfer");
  });

  it.each([
    ["changes the server", "repositoryModelLoad", { modelName: "m" }, {}],
    ["belongs to a sequence", "modelInfer", { ...INFER, sequence: { id: 1n, start: true, end: false } }, {}],
    ["gave its buffers away", "modelInfer", INFER, { transfer: [new ArrayBuffer(1)] }],
  ] as const)("says what happened to a request that %s", async (_why, name, input, options) => {
    const first = fakeHost("a");
    first.answer = never;
    const second = fakeHost("b");
    const hosts = [first, second];
    const connection = createHostConnection(() => Promise.resolve((hosts.shift() ?? second).line));
    const answer = connection.call(name, input, options);
    await connection.line();
    first.die();
    await expect(answer).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("not known") as string,
    });
    expect(second.calls).toEqual([]);
  });

  it("ends a stream with an error when the host goes, and repeats nothing", async () => {
    const first = fakeHost("a");
    first.answer = never;
    const second = fakeHost("b");
    const hosts = [first, second];
    const connection = createHostConnection(() => Promise.resolve((hosts.shift() ?? second).line));
    const items: unknown[] = [];
    const reading = (async () => {
      for await (const item of connection.stream("modelStreamInfer", INFER)) {
        items.push(item);
        first.die();
      }
    })();
    await expect(reading).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        "the page that ran the server went away during modelStreamInfer; whether it took effect is not known",
    });
    expect(items).toEqual(["a first"]);
    expect(second.calls).toEqual([]);
  });

  it("passes a server's own refusal on", async () => {
    const host = fakeHost("a");
    const refusal = new InferenceError("NOT_FOUND", "Request for unknown model: 'm' is not found");
    host.answer = () => Promise.reject(refusal);
    const connection = createHostConnection(() => Promise.resolve(host.line));
    await expect(connection.call("modelInfer", INFER)).rejects.toBe(refusal);
    expect(host.calls).toEqual(["modelInfer"]);
  });

  it("ends every pending call when it is closed, also while there is no host", async () => {
    const host = fakeHost("a");
    host.answer = never;
    const connection = createHostConnection(() => Promise.resolve(host.line));
    const pending = connection.call("modelInfer", INFER);
    await connection.line();
    const reason = new InferenceError("UNAVAILABLE", "the server was stopped");
    connection.close(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(connection.call("serverLive", {})).rejects.toBe(reason);

    const searching = createHostConnection(
      (signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    );
    const waiting = searching.call("serverLive", {});
    searching.close(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("stops waiting for a host when the caller does", async () => {
    const connection = createHostConnection(() => new Promise(() => undefined));
    const cancel = new AbortController();
    const waiting = connection.call("serverLive", {}, { signal: cancel.signal });
    cancel.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("is closed for good when no host can be had at all", async () => {
    const refusal = new InferenceError("UNAVAILABLE", "cannot start");
    const connection = createHostConnection(() => Promise.reject(refusal));
    await expect(connection.call("serverLive", {})).rejects.toBe(refusal);
    await expect(connection.call("serverLive", {})).rejects.toBe(refusal);
  });
});
