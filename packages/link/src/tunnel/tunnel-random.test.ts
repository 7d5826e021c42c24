import { InferenceError } from "@naiad/protocol";
import { pairedLines } from "@naiad/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createTunnelAnswerer } from "./answering-end.ts";
import { createTunnelAsker } from "./asking-end.ts";
import { PIECE_BYTES, TUNNEL_WINDOW_BYTES } from "./frame.ts";

interface Plan {
  /** Sizes of the pieces in which the request's body is sent; the answer repeats it in pieces of another size. */
  readonly sizes: readonly number[];
  readonly answerSize: number;
  readonly abandon: "no" | "abort" | "leave";
  /** After so many turns. */
  readonly abandonAfter: number;
}

const size = fc.oneof(
  fc.nat(5),
  fc.constantFrom(PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1),
  fc.constantFrom(TUNNEL_WINDOW_BYTES, TUNNEL_WINDOW_BYTES + 1),
);
const plan: fc.Arbitrary<Plan> = fc.record({
  sizes: fc.array(size, { maxLength: 3 }),
  answerSize: fc.integer({ min: 1000, max: 2 * TUNNEL_WINDOW_BYTES }),
  abandon: fc.constantFrom("no", "no", "abort", "leave"),
  abandonAfter: fc.nat(12),
});

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Bytes by their position, so that a piece that is lost, repeated or out of place shows. */
const PATTERN = Uint8Array.from(
  { length: 3 * (TUNNEL_WINDOW_BYTES + 1) },
  (_, index) => index * 7 + (index >> 8),
);

async function* cut(whole: Uint8Array, sizes: Iterable<number>): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (const length of sizes) {
    if (length === 0 || offset < whole.length)
      yield await Promise.resolve(whole.slice(offset, offset + length));
    offset += length;
  }
}

function* repeat(length: number, total: number): Generator<number> {
  for (let sent = 0; sent < total; sent += length) yield length;
}

it("delivers every body whole, whatever is cancelled beside it, and every exchange ends", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 5 }), fc.nat(2), async (plans, lag) => {
      const { left, right } = pairedLines({ lag });
      let handling = 0;
      const asker = createTunnelAsker({ line: left, defer: queueMicrotask, peer: "host" });
      const answerer = createTunnelAnswerer({
        line: right,
        defer: queueMicrotask,
        peer: "command",
        handlers: new Map([
          [
            "echo",
            async ({ body, rawTarget }) => {
              handling += 1;
              try {
                const parts: Uint8Array[] = [];
                for await (const piece of body) parts.push(piece);
                const whole = new Uint8Array(Buffer.concat(parts));
                const sizes = repeat(Number(rawTarget), whole.length);
                return { status: 200, headers: [], body: cut(whole, sizes) };
              } finally {
                handling -= 1;
              }
            },
          ],
        ]),
      });

      const outcomes = plans.map(async ({ abandon, abandonAfter, answerSize, sizes }) => {
        const whole = PATTERN.subarray(
          0,
          sizes.reduce((sum, length) => sum + length, 0),
        );
        const controller = new AbortController();
        if (abandon === "abort") {
          void (async () => {
            for (let turns = 0; turns < abandonAfter; turns += 1) await turn();
            controller.abort();
          })();
        }
        try {
          const answer = await asker.exchange({
            protocol: "echo",
            method: "POST",
            rawTarget: String(answerSize),
            headers: [],
            body: cut(whole, sizes),
            signal: controller.signal,
          });
          if (answer.body instanceof Uint8Array) throw new Error("not in pieces");
          const parts: Uint8Array[] = [];
          for await (const piece of answer.body) {
            parts.push(piece);
            if (abandon === "leave" && parts.length > abandonAfter) return "left";
          }
          expect(Buffer.compare(Buffer.concat(parts), whole)).toBe(0);
          return "whole";
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(InferenceError);
          expect(thrown).toMatchObject({ code: "CANCELLED" });
          return "cancelled";
        }
      });
      for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
        const { abandon } = plans[index] ?? { abandon: "no" };
        if (abandon === "no") expect(outcome).toBe("whole");
        if (abandon === "abort") expect(["whole", "cancelled"]).toContain(outcome);
        if (abandon === "leave") expect(["whole", "left"]).toContain(outcome);
      }
      await asker.ping();
      for (let turns = 0; turns < 20; turns += 1) await turn();
      expect(handling).toBe(0);
      asker.close(new InferenceError("UNAVAILABLE", "over"));
      await answerer.closed;
    }),
    { seed: 3, numRuns: 40 },
  );
});
