import type { ExchangeResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { pairedLines } from "@naiad/testing";
import type { ArrivingRequest, TunnelHandler } from "./answering-end.ts";
import { createTunnelAnswerer } from "./answering-end.ts";
import type { TunnelRequest } from "./asking-end.ts";
import { createTunnelAsker } from "./asking-end.ts";
import { encodeFrame, joinFrames, TUNNEL_WINDOW_BYTES } from "./frame.ts";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 0);
  });

async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(part);
}

async function collect(body: ExchangeResponse["body"]): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const parts: Uint8Array[] = [];
  for await (const piece of body) parts.push(piece);
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function connect(handler: TunnelHandler) {
  const { left, right } = pairedLines();
  const asker = createTunnelAsker({ line: left, defer: queueMicrotask, peer: "the browser" });
  const answerer = createTunnelAnswerer({
    line: right,
    defer: queueMicrotask,
    handlers: new Map([["http", handler]]),
    peer: "the command",
  });
  const ask = (request: Partial<TunnelRequest> = {}): Promise<ExchangeResponse> =>
    asker.exchange({
      protocol: "http",
      method: "GET",
      rawTarget: "/",
      headers: [],
      body: pieces(),
      signal: new AbortController().signal,
      ...request,
    });
  return { asker, answerer, ask, left, right };
}

const ok = (body: ExchangeResponse["body"], more: Partial<ExchangeResponse> = {}): ExchangeResponse => ({
  status: 200,
  headers: [],
  body,
  ...more,
});

/** Resolves never, unless the signal fires. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => {
      reject(InferenceError.from(signal.reason));
    });
  });

describe("a tunnel", () => {
  it("carries request and answer with heads, bodies, trailers and the count of chunks", async () => {
    const { ask } = connect(async ({ method, rawTarget, headers, body, ended }) => {
      const content = text(await collect(body));
      const end = await ended;
      return ok(pieces(bytes(`${method} ${rawTarget} ${content}`), bytes(JSON.stringify([headers, end]))), {
        status: 201,
        headers: [["x-a", "ä"]],
        trailers: Promise.resolve([["t", "1"]] as const),
      });
    });
    const answer = await ask({
      method: "POST",
      rawTarget: "/v2/models/a%2Fb",
      headers: [["h", "v"]],
      body: pieces(bytes("one"), new Uint8Array(0), bytes("two")),
      chunkCount: () => 2,
      trailers: () => [["r", "s"]],
    });
    expect([answer.status, answer.headers]).toEqual([201, [["x-a", "ä"]]]);
    expect(text(await collect(answer.body))).toBe(
      'POST /v2/models/a%2Fb onetwo[[["h","v"]],{"trailers":[["r","s"]],"chunkCount":2}]',
    );
    expect(await answer.trailers).toEqual([["t", "1"]]);
  });

  it("carries bodies many times as large as the window, whole and in order", async () => {
    const { ask } = connect(async ({ body }) => ok(await collect(body)));
    const large = new Uint8Array(TUNNEL_WINDOW_BYTES * 3 + 17).map((_, index) => index % 251);
    const answer = await ask({ body: pieces(large.slice()) });
    expect(Buffer.compare(await collect(answer.body), large)).toBe(0);
  });

  it("sends no more than the window to a reader that does not read, and meanwhile serves others", async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield await Promise.resolve(new Uint8Array(100_000));
        sent += 100_000;
      }
    }
    const { ask } = connect(({ rawTarget }) =>
      Promise.resolve(rawTarget === "/endless" ? ok(endless()) : ok(bytes("short"))),
    );
    const controller = new AbortController();
    const slow = await ask({ rawTarget: "/endless", signal: controller.signal });
    expect(text(await collect((await ask()).body))).toBe("short");
    await settle();
    expect(sent).toBeGreaterThan(TUNNEL_WINDOW_BYTES / 2);
    expect(sent).toBeLessThanOrEqual(TUNNEL_WINDOW_BYTES);
    controller.abort();
    await expect(collect(slow.body)).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("cancels at the other end when the asker gives up", async () => {
    let seen: AbortSignal | undefined;
    const { ask } = connect(({ signal }) => {
      seen = signal;
      return untilAborted(signal);
    });
    const controller = new AbortController();
    const answer = ask({ signal: controller.signal });
    await settle();
    expect(seen?.aborted).toBe(false);
    controller.abort(new Error("closed the connection"));
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    await settle();
    expect(seen?.aborted).toBe(true);
    await expect(ask({ signal: controller.signal })).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("cancels at the other end when a reader leaves the body early", async () => {
    let ended = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield await Promise.resolve(bytes("x"));
      } finally {
        ended = true;
      }
    }
    const { ask } = connect(() => Promise.resolve(ok(endless())));
    const { body } = await ask();
    if (body instanceof Uint8Array) throw new Error("not in pieces");
    const reader = body[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
    await settle();
    expect(ended).toBe(true);
  });

  it("tells the handler when the request's body breaks off", async () => {
    const seen: unknown[] = [];
    const { ask } = connect(async ({ body }) => {
      try {
        return ok(await collect(body));
      } catch (thrown) {
        seen.push(InferenceError.from(thrown).code);
        throw thrown;
      }
    });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(bytes("half"));
      throw new InferenceError("CANCELLED", "the client is gone");
    }
    await expect(ask({ body: broken() })).rejects.toMatchObject({ message: "the client is gone" });
    await settle();
    expect(seen).toEqual(["CANCELLED"]);
  });

  it("ends with an answer that did not wait for the request's body", async () => {
    const { ask } = connect(() => Promise.resolve(ok(bytes("too large"), { status: 413 })));
    let pulled = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        pulled += 1;
        yield await Promise.resolve(new Uint8Array(100_000));
      }
    }
    const answer = await ask({ body: endless() });
    expect([answer.status, text(await collect(answer.body))]).toEqual([413, "too large"]);
    await settle();
    const before = pulled;
    await settle();
    expect(pulled).toBe(before);
  });

  it("passes errors of a handler on, and refuses words it does not know", async () => {
    const { ask } = connect(() => Promise.reject(new InferenceError("NOT_FOUND", "no such thing")));
    await expect(ask()).rejects.toMatchObject({ code: "NOT_FOUND", message: "no such thing" });
    await expect(ask({ protocol: "smtp" })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "this server does not speak 'smtp'",
    });
  });

  it("fails a body in the middle when the handler's body fails", async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(bytes("start"));
      throw new InferenceError("INTERNAL", "worker died");
    }
    const { ask } = connect(() => Promise.resolve(ok(failing())));
    await expect(collect((await ask()).body)).rejects.toMatchObject({ message: "worker died" });
  });

  it("answers pings, and not from an end whose connection is lost", async () => {
    const { asker, left } = connect(() => Promise.reject(new Error("unused")));
    await asker.ping();
    const ping = asker.ping();
    left.break("it crashed");
    await expect(ping).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "the connection to the browser is lost: it crashed",
    });
    await expect(asker.ping()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("ends everything at both ends when the connection is lost", async () => {
    const requests: ArrivingRequest[] = [];
    const { ask, asker, answerer, left } = connect((request) => {
      requests.push(request);
      return request.rawTarget === "/begun"
        ? Promise.resolve(ok(pieces(new Uint8Array(3 * TUNNEL_WINDOW_BYTES))))
        : untilAborted(request.signal);
    });
    const waiting = ask();
    const begun = await ask({ rawTarget: "/begun" });
    left.break("it crashed");
    await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(collect(begun.body)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(ask()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect((await asker.closed).message).toContain("it crashed");
    expect((await answerer.closed).message).toContain("it crashed");
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  it("closes on bytes that are no frames, and on bytes beyond the credit", async () => {
    const first = connect(() => Promise.reject(new Error("unused")));
    first.right.send(new Uint8Array([99]));
    expect((await first.asker.closed).message).toContain("cut off");

    const second = connect(({ signal }) => untilAborted(signal));
    const answer = second.ask();
    await settle();
    const piece = { kind: "piece", stream: 1, bytes: new Uint8Array(TUNNEL_WINDOW_BYTES + 1) } as const;
    second.right.send(joinFrames([encodeFrame(piece)]));
    await expect(answer).rejects.toMatchObject({ code: "INTERNAL" });
    expect((await second.asker.closed).message).toContain("more than it had credit for");
  });

  it("puts what is written in one turn into one message", async () => {
    const { ask, left } = connect(() => Promise.resolve(ok(bytes("x"))));
    let messages = 0;
    left.onSend(() => (messages += 1));
    await collect((await ask()).body);
    expect(messages).toBeLessThanOrEqual(2);
  });

  it("answers with one message where the body is whole, trailers and all", async () => {
    const { ask, right } = connect(() =>
      Promise.resolve(ok(bytes("x"), { trailers: Promise.resolve([["t", "1"]] as const) })),
    );
    let messages = 0;
    right.onSend(() => (messages += 1));
    const answer = await ask();
    expect(text(await collect(answer.body))).toBe("x");
    expect(await answer.trailers).toEqual([["t", "1"]]);
    expect(messages).toBe(1);
  });

  it("ends the reading of a request whose answer has ended", async () => {
    let reading: Promise<unknown> = Promise.resolve();
    const { ask } = connect(({ body }) => {
      reading = collect(body).catch((thrown: unknown) => InferenceError.from(thrown).message);
      return Promise.resolve(ok(bytes("done")));
    });
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    };
    expect(text(await collect((await ask({ body })).body))).toBe("done");
    expect(await reading).toBe("the answer has ended");
  });
});
