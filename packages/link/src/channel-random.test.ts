import { InferenceError, invariant } from "@naiad/protocol";
import type { DemoConnection, EndpointPair } from "@naiad/testing";
import { LOST, connectDemo, pairedEndpoints } from "@naiad/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

type Step =
  | { readonly kind: "call" | "wait" | "fail" | "stream"; readonly isAbortable: boolean }
  | { readonly kind: "abort" | "read" | "leave"; readonly which: number }
  | { readonly kind: "note" | "answer" | "deliver" | "kill" | "garble" | "goodbye" };

const isAbortable = fc.boolean();
const which = fc.nat(20);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("call", "wait", "fail", "stream"), isAbortable }),
  },
  { weight: 7, arbitrary: fc.record({ kind: fc.constantFrom("abort", "read", "leave"), which }) },
  { weight: 9, arbitrary: fc.record({ kind: fc.constantFrom("note", "answer", "deliver") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("kill", "garble", "goodbye") }) },
);

/** Something that was asked and must end. */
interface Asked {
  readonly what: "call" | "wait" | "fail" | "read" | "leave";
  readonly controller: AbortController;
  state: "pending" | "answered" | { readonly error: unknown };
}

class Scenario {
  readonly #pair: EndpointPair = pairedEndpoints({ delivery: "manual" });
  readonly #connection: DemoConnection = connectDemo(this.#pair);
  readonly #asked: Asked[] = [];
  readonly #streams: { readonly items: AsyncIterator<number>; readonly controller: AbortController }[] = [];
  #isWhole = true;

  take(next: Step): void {
    const { asking, answering, server } = this.#connection;
    const controller = new AbortController();
    const options = "isAbortable" in next && next.isAbortable ? { signal: controller.signal } : {};
    switch (next.kind) {
      case "call":
        this.#watch("call", controller, async () => {
          expect([...(await asking.call("double", new Uint8Array([21]), options))]).toEqual([42]);
        });
        return;
      case "wait":
        this.#watch("wait", controller, () => asking.call("wait", null, options));
        return;
      case "fail":
        this.#watch("fail", controller, () => asking.call("fail", "async", options));
        return;
      case "stream": {
        const stream = asking.stream("count", { to: 3 }, { ...options, credits: 2 });
        this.#streams.push({ items: stream[Symbol.asyncIterator](), controller });
        return;
      }
      case "abort":
        (this.#asked[next.which] ?? this.#streams[next.which])?.controller.abort();
        return;
      case "read":
      case "leave": {
        const stream = this.#streams[next.which % Math.max(1, this.#streams.length)];
        if (stream === undefined) return;
        const { items } = stream;
        this.#watch(next.kind, stream.controller, async () =>
          next.kind === "read" ? await items.next() : await items.return?.(),
        );
        return;
      }
      case "note":
        asking.notify("mark", "note");
        return;
      case "answer":
        server.answerWaiting("here");
        return;
      case "deliver":
        this.#pair.step();
        return;
      case "kill":
        this.#isWhole = false;
        this.#pair.right.kill();
        return;
      case "garble":
        this.#isWhole = false;
        this.#pair.right.garbleNext();
        return;
      case "goodbye":
        this.#isWhole = false;
        answering.close(LOST);
        return;
    }
  }

  /** While both sides live, whatever does not wait for this test to answer ends by itself. */
  async checkWhole(): Promise<void> {
    do await turn();
    while (this.#pair.step());
    if (!this.#isWhole) return;
    for (const { what, state } of this.#asked) {
      if (what !== "wait") invariant(state !== "pending", `a ${what} does not end by itself`);
    }
  }

  async checkEnd(): Promise<void> {
    const { asking, answering, server } = this.#connection;
    asking.close(LOST);
    answering.close(LOST);
    await turn();
    for (const { what, controller, state } of this.#asked) {
      if (state === "answered") continue;
      invariant(state !== "pending", `a ${what} hangs`);
      invariant(state.error instanceof InferenceError, `a ${what} ended with ${String(state.error)}`);
      const { code } = state.error;
      if (code === "CANCELLED") expect(controller.signal.aborted).toBe(true);
      else if (code === "NOT_FOUND") expect(what).toBe("fail");
      else expect(["UNAVAILABLE", "INTERNAL"]).toContain(code);
    }
    expect(server.closedStreams).toBe(server.openedStreams);
    expect(this.#pair.left.listenerCount + this.#pair.right.listenerCount).toBe(0);
  }

  #watch(what: Asked["what"], controller: AbortController, ask: () => Promise<unknown>): void {
    const asked: Asked = { what, controller, state: "pending" };
    this.#asked.push(asked);
    ask().then(
      () => {
        asked.state = "answered";
      },
      (error: unknown) => {
        asked.state = { error };
      },
    );
  }
}

describe("channel under random calls, cancels and deaths", () => {
  it("ends every call and stream, with a right answer or a right reason", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
        const scenario = new Scenario();
        for (const next of steps) {
          scenario.take(next);
          await turn();
        }
        await scenario.checkWhole();
        await scenario.checkEnd();
      }),
      { seed: 20261129, numRuns: 300 },
    );
  });
});

/** Long enough for all microtasks. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
