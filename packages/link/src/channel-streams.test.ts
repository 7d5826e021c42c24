import { ENDPOINT_KINDS } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { connect } from "../test/connect.ts";

describe.each(ENDPOINT_KINDS)("streams over $name", ({ open }) => {
  it("streams in order up to the explicit end", async () => {
    const { asking } = connect(open());
    const items: number[] = [];
    for await (const item of asking.stream("count", { to: 100 }, { credits: 3 })) items.push(item);
    expect(items).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it("gives streamed buffers to the receiver", async () => {
    const { asking } = connect(open());
    const pieces: number[][] = [];
    for await (const piece of asking.stream("bytes", null)) pieces.push([...piece]);
    expect(pieces).toEqual([
      [1, 0, 255],
      [2, 0, 255],
    ]);
  });

  it.each([1, 2, 5])("never lets more than %i items wait unread", async (credits) => {
    const { asking, server } = connect(open());
    let read = 0;
    let mostAhead = 0;
    for await (const item of asking.stream("count", { to: 40 }, { credits })) {
      await settled();
      read += 1;
      mostAhead = Math.max(mostAhead, server.produced - read);
      expect(item).toBe(read - 1);
    }
    expect(read).toBe(40);
    expect(mostAhead).toBeLessThanOrEqual(credits);
  });

  it("gives the items before an error, then the error", async () => {
    const { asking } = connect(open());
    const items: number[] = [];
    const reading = (async () => {
      for await (const item of asking.stream("count", { to: 9, failAt: 2 })) items.push(item);
    })();
    await expect(reading).rejects.toMatchObject({ code: "INVALID_ARG", message: "stuck at 2" });
    expect(items).toEqual([0, 1]);
  });

  it("cancels the stream when the loop is left early", async () => {
    const { asking, server } = connect(open());
    for await (const item of asking.stream("count", { to: Infinity }, { credits: 4 })) {
      if (item === 5) break;
    }
    await expect.poll(() => server.closedStreams).toBe(1);
    expect(server.signals[0]?.aborted).toBe(true);
    expect(server.produced).toBeLessThan(16);
  });

  it("ends a stream at once when its signal fires", async () => {
    const { asking, server } = connect(open());
    const controller = new AbortController();
    const iterator = asking
      .stream("count", { to: Infinity }, { credits: 4, signal: controller.signal })
      [Symbol.asyncIterator]();
    await iterator.next();
    await settled();
    controller.abort();
    await expect(iterator.next()).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    await expect.poll(() => server.closedStreams).toBe(1);
  });

  it("gives nothing more after it was left, not even the error that waited", async () => {
    const { asking, server } = connect(open());
    const iterator = asking.stream("count", { to: 9, failAt: 1 })[Symbol.asyncIterator]();
    await expect.poll(() => server.closedStreams).toBe(1);
    await settled();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("ends a silent stream when its signal fires", async () => {
    const { asking } = connect(open());
    const controller = new AbortController();
    const next = asking.stream("silence", null, { signal: controller.signal })[Symbol.asyncIterator]().next();
    await settled();
    controller.abort();
    await expect(next).rejects.toMatchObject({ code: "CANCELLED" });
  });
});

/** Long enough for every message under way to arrive and be handled. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
