import type { ServerEvent } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { eventStream } from "./event-stream.ts";

const log = (message: string): ServerEvent => ({ kind: "log", level: "info", message, epochMs: 0 });
const progress = (loadedBytes: number): ServerEvent => ({
  kind: "progress",
  modelName: "m",
  path: "p",
  phase: "download",
  loadedBytes,
  totalBytes: 9,
  modelLoadedBytes: loadedBytes,
  modelTotalBytes: 9,
});

function source() {
  const listeners = new Set<(event: ServerEvent) => void>();
  return {
    listeners,
    subscribe: (listener: (event: ServerEvent) => void) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    publish: (event: ServerEvent) => {
      for (const listener of listeners) listener(event);
    },
  };
}

describe("eventStream", () => {
  it("gives events in order, those that waited and those that come", async () => {
    const { subscribe, publish } = source();
    const events = eventStream(subscribe, new AbortController().signal);
    const first = events.next();
    publish(log("a"));
    publish(log("b"));
    expect(await first).toEqual({ done: false, value: log("a") });
    expect(await events.next()).toEqual({ done: false, value: log("b") });
    const third = events.next();
    publish(log("c"));
    expect(await third).toEqual({ done: false, value: log("c") });
  });

  it("ends when the signal fires, also while it waits", async () => {
    const { subscribe, listeners } = source();
    const abort = new AbortController();
    const events = eventStream(subscribe, abort.signal);
    const next = events.next();
    expect(listeners.size).toBe(1);
    abort.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(listeners.size).toBe(0);
  });

  it("lets go when its reader leaves", async () => {
    const { subscribe, listeners, publish } = source();
    const events = eventStream(subscribe, new AbortController().signal);
    const next = events.next();
    publish(log("a"));
    await next;
    await events.return(undefined);
    expect(listeners.size).toBe(0);
  });

  it("keeps the latest for a slow reader, and states rather than progress", async () => {
    const { subscribe, publish } = source();
    const abort = new AbortController();
    const events = eventStream(subscribe, abort.signal, 3);
    const first = events.next();
    publish(log("read at once"));
    await first;
    for (const event of [log("a"), progress(1), log("b"), progress(2), log("c"), log("d")]) publish(event);
    const read: ServerEvent[] = [];
    for (let index = 0; index < 3; index += 1) {
      const { value } = await events.next();
      if (value !== undefined) read.push(value);
    }
    expect(read).toEqual([log("b"), log("c"), log("d")]);
  });
});
