import { describe, expect, it } from "vitest";
import { createSerialQueue } from "./serial-queue.ts";

interface Gate {
  readonly task: () => Promise<string>;
  finish(): void;
  fail(error: Error): void;
}

function gates(log: string[]): (name: string) => Gate {
  return (name) => {
    let resolve: (value: string) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    const done = new Promise<string>((resolveDone, rejectDone) => {
      resolve = resolveDone;
      reject = rejectDone;
    });
    return {
      task: () => {
        log.push(name);
        return done;
      },
      finish: () => {
        resolve(name);
      },
      fail: reject,
    };
  };
}

describe("serial queue", () => {
  it("starts a task at once when idle, and the others in order, one at a time", async () => {
    const started: string[] = [];
    const gate = gates(started);
    const queue = createSerialQueue();
    const [a, b, c] = [gate("a"), gate("b"), gate("c")];
    const results = [a, b, c].map(({ task }) => queue.run(task));
    expect([started, queue.size]).toEqual([["a"], 3]);
    c.finish();
    b.finish();
    await turn();
    expect(started).toEqual(["a"]);
    a.finish();
    expect(await Promise.all(results)).toEqual(["a", "b", "c"]);
    await turn();
    expect([started, queue.size]).toEqual([["a", "b", "c"], 0]);
  });

  it("goes on after a task that rejects or throws", async () => {
    const queue = createSerialQueue();
    const rejected = queue.run(() => Promise.reject(new Error("rejected")));
    const thrown = queue.run(() => {
      throw new Error("thrown");
    });
    const fine = queue.run(() => Promise.resolve("fine"));
    await expect(rejected).rejects.toThrow("rejected");
    await expect(thrown).rejects.toThrow("thrown");
    expect(await fine).toBe("fine");
  });

  it("takes a task out when its signal fires while it waits", async () => {
    const started: string[] = [];
    const gate = gates(started);
    const queue = createSerialQueue();
    const controller = new AbortController();
    const [a, b, c] = [gate("a"), gate("b"), gate("c")];
    const first = queue.run(a.task);
    const waiting = queue.run(b.task, controller.signal);
    const last = queue.run(c.task);
    controller.abort("enough");
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", cause: "enough" });
    a.finish();
    c.finish();
    expect([await first, await last, started]).toEqual(["a", "c", ["a", "c"]]);
  });

  it("leaves a running task to its own handling of the signal", async () => {
    const started: string[] = [];
    const a = gates(started)("a");
    const queue = createSerialQueue();
    const controller = new AbortController();
    const running = queue.run(a.task, controller.signal);
    controller.abort();
    a.finish();
    expect(await running).toBe("a");
  });

  it("does not start a task whose signal has fired already", async () => {
    const started: string[] = [];
    const queue = createSerialQueue();
    await expect(queue.run(gates(started)("a").task, AbortSignal.abort())).rejects.toMatchObject({
      code: "CANCELLED",
    });
    expect([started, queue.size]).toEqual([[], 0]);
  });

  it("runs a task that another task queues", async () => {
    const queue = createSerialQueue();
    let inner: Promise<string> | undefined;
    await queue.run(() => {
      inner = queue.run(() => Promise.resolve("inner"));
      return Promise.resolve();
    });
    expect(await inner).toBe("inner");
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
