import type { ExecuteContext, InstanceResponse } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RESPONSE_CREDITS } from "../contracts.ts";
import { DECOUPLED, startModel, TIMES, value } from "../../test/decoupled-worker.ts";
import { deferred } from "./deferred.ts";

/** After what runs now. */
async function later(task: () => Promise<void>): Promise<void> {
  await Promise.resolve();
  await task();
}

describe("responses of a decoupled model in a worker", () => {
  it("come in order, during the execution and after it, until the end", async () => {
    const { clock, run } = await startModel(async ({ responses }) => {
      await responses.response(0, value(1));
      await responses.response(0, { kind: "error", error: { code: "INVALID_ARG", message: "no" } });
      void later(async () => {
        await responses.response(0, value(3));
        responses.end(0);
      });
      return [DECOUPLED];
    });
    const running = run();
    await clock.settle();
    expect(await running.result).toMatchObject({ kind: "completed", outcomes: [DECOUPLED], times: TIMES });
    expect(running.heard).toEqual(["0:1", "0:!INVALID_ARG", "0:3", "0:end"]);
  });

  it("are those of each request, whose ends may come with the last one or with an error", async () => {
    const { clock, run } = await startModel(({ responses }) => {
      void responses.response(1, value(1), { final: true });
      void responses.response(0, value(2));
      responses.end(0, { code: "INTERNAL", message: "burnt" });
      void responses.response(1, value(9));
      return Promise.resolve([DECOUPLED, DECOUPLED]);
    });
    const running = run({ count: 2 });
    await clock.settle();
    expect(running.heard).toEqual(["1:1 final", "0:2", "0:end INTERNAL"]);
  });

  it("are over with the execution where a request is to be executed again, and all there by then", async () => {
    let sendLater = (): Promise<void> => Promise.resolve();
    const { clock, run } = await startModel(async ({ responses }) => {
      for (let index = 0; index < 20; index += 1) void responses.response(0, value(index));
      sendLater = () => responses.response(0, value(99));
      await Promise.resolve();
      return [{ kind: "reschedule", outputs: [] }];
    });
    const running = run();
    await clock.settle();
    await sendLater();
    await clock.settle();
    expect(running.heard).toEqual(Array.from({ length: 20 }, (_, index) => `0:${String(index)}`));
    expect(await running.result).toMatchObject({ outcomes: [{ kind: "reschedule" }] });
  });

  it("give their buffers away", async () => {
    const sent: InstanceResponse[] = [];
    const { clock, run } = await startModel(({ responses }) => {
      const response = value(1);
      sent.push(response);
      void responses.response(0, response);
      responses.end(0);
      return Promise.resolve([DECOUPLED]);
    });
    run();
    await clock.settle();
    const [response] = sent;
    const [output] = response?.kind === "response" ? response.outputs : [];
    expect(output?.kind === "bytes" && output.bytes.byteLength).toBe(0);
  });

  it("wait in the model while the reader has no room", async () => {
    let sent = 0;
    const { clock, run } = await startModel(({ responses }) => {
      void later(async () => {
        for (; sent < 100; sent += 1) await responses.response(0, value(sent));
        responses.end(0);
      });
      return Promise.resolve([DECOUPLED]);
    });
    let isOpen = false;
    const waiting: (() => void)[] = [];
    const running = run({
      room: () => (isOpen ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    });
    await clock.settle();
    expect(running.heard).toHaveLength(RESPONSE_CREDITS);
    expect(sent).toBe(RESPONSE_CREDITS - 1);
    isOpen = true;
    for (const goOn of waiting) goOn();
    await clock.settle();
    expect(running.heard).toEqual([
      ...Array.from({ length: 100 }, (_, index) => `0:${String(index)}`),
      "0:end",
    ]);
  });

  it("lose nothing of a model that does not wait", async () => {
    const { clock, run } = await startModel(({ responses }) => {
      for (let index = 0; index < 50; index += 1) void responses.response(0, value(index));
      responses.end(0);
      return Promise.resolve([DECOUPLED]);
    });
    const running = run();
    await clock.settle();
    expect(running.heard).toEqual([
      ...Array.from({ length: 50 }, (_, index) => `0:${String(index)}`),
      "0:end",
    ]);
  });
});

describe("a cancelled request of a decoupled model in a worker", () => {
  it("is told to the model, which is held no more; its end is still heard", async () => {
    const { clock, run } = await startModel(({ responses, signals }) => {
      void later(async () => {
        while (signals[0]?.aborted === false) await responses.response(0, value(1));
        await responses.response(0, value(2));
        responses.end(0);
      });
      return Promise.resolve([DECOUPLED]);
    });
    const running = run({ room: () => new Promise(() => undefined) });
    await clock.settle();
    running.cancel(0);
    await clock.settle();
    expect(running.heard).toEqual([...Array.from({ length: RESPONSE_CREDITS }, () => "0:1"), "0:end"]);
  });

  it("is cancelled also while it waits for its turn in the worker", async () => {
    const gate = deferred<undefined>();
    const seen: (boolean | undefined)[] = [];
    const { clock, run } = await startModel(async ({ responses, signals }) => {
      seen.push(signals[0]?.aborted);
      await gate.promise;
      responses.end(0);
      return [DECOUPLED];
    });
    const [first, second] = [run(), run()];
    await clock.settle();
    second.cancel(0);
    await clock.settle();
    gate.resolve(undefined);
    await clock.settle();
    expect(seen).toEqual([false, true]);
    expect([first.heard, second.heard]).toEqual([["0:end"], ["0:end"]]);
  });
});

describe("the loss of a worker with decoupled requests", () => {
  it("ends the execution with the loss, and nothing more is heard", async () => {
    const { clock, run, crash } = await startModel(async ({ responses }) => {
      await responses.response(0, value(1));
      return new Promise(() => undefined);
    });
    const running = run();
    await clock.settle();
    await crash();
    expect(await running.result).toMatchObject({ kind: "lost" });
    expect(running.heard).toEqual(["0:1"]);
  });

  it("is told by the instance after the execution", async () => {
    const { clock, run, crash, instance } = await startModel(({ responses }) => {
      void responses.response(0, value(1));
      return Promise.resolve([DECOUPLED]);
    });
    const running = run();
    await clock.settle();
    expect(await running.result).toMatchObject({ kind: "completed" });
    await crash();
    expect(await instance.lost).toContain("it crashed");
    running.cancel(0);
    await clock.settle();
    expect(running.heard).toEqual(["0:1"]);
  });

  it.each(["instance.before-execute", "instance.before-reply", "host.before-dispatch"] as const)(
    "answers the execution also where %s throws",
    async (broken) => {
      const { clock, run } = await startModel(
        ({ responses }) => {
          responses.end(0);
          return Promise.resolve([DECOUPLED]);
        },
        (point) => {
          if (point === broken) throw new InferenceError("INTERNAL", "broken");
        },
      );
      const running = run();
      await clock.settle();
      expect(await running.result).toMatchObject({ kind: "completed", outcomes: [{ kind: "error" }] });
    },
  );
});

describe("decoupled requests in a worker, whatever happens", () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("response" as const), index: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("end" as const), index: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), index: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("settle" as const), index: fc.nat(2) }) },
  );

  it("lose no response, repeat none, keep their order and say nothing after the end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, waits) => {
        let model: ExecuteContext | undefined;
        const { clock, run } = await startModel((context) => {
          model = context;
          return Promise.resolve([DECOUPLED, DECOUPLED, DECOUPLED]);
        });
        const running = run({
          count: 3,
          room: () => (waits ? new Promise((resolve) => void clock.after(1, resolve)) : Promise.resolve()),
        });
        await clock.drain();
        const expected: string[][] = [[], [], []];
        const ended = new Set<number>();
        const cancelled = new Set<number>();
        for (const [number, { kind, index }] of [
          ...steps,
          ...[0, 1, 2].map((index) => ({ kind: "end" as const, index })),
        ].entries()) {
          switch (kind) {
            case "response":
              if (!ended.has(index)) expected[index]?.push(`${String(index)}:${String(number)}`);
              void model?.responses.response(index, value(number));
              break;
            case "end":
              if (!ended.has(index)) expected[index]?.push(`${String(index)}:end`);
              ended.add(index);
              model?.responses.end(index);
              break;
            case "cancel":
              cancelled.add(index);
              running.cancel(index);
              break;
            case "settle":
              await clock.drain();
          }
        }
        await clock.drain();
        for (const index of [0, 1, 2]) {
          const heard = running.heard.filter((text) => text.startsWith(`${String(index)}:`));
          const all = expected[index] ?? [];
          expect(heard.at(-1)).toBe(`${String(index)}:end`);
          if (cancelled.has(index)) {
            const before = heard.slice(0, -1);
            expect(before).toEqual(all.filter((text) => before.includes(text)));
          } else {
            expect(heard).toEqual(all);
          }
        }
      }),
      { numRuns: 60, seed: 5 },
    );
  });
});
