import { InferenceError } from "@naiad/protocol";
import type { ServerBench } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const SEED = 20260;
const MODELS = ["a", "b"] as const;
const CONFIG = "dynamic_batching {} version_policy { all {} }";

type Step =
  | { readonly kind: "load" | "unload" | "change"; readonly model: string }
  | { readonly kind: "infer"; readonly model: string; readonly abortAfterMs?: number }
  | { readonly kind: "break" | "mend" }
  | { readonly kind: "lose"; readonly model: string }
  | { readonly kind: "wait"; readonly ms: number };

const model = fc.constantFrom(...MODELS);
const wait = fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 12 }) });
const infer = fc.record({ kind: fc.constant("infer" as const), model });
const abortedInfer = fc.record({
  kind: fc.constant("infer" as const),
  model,
  abortAfterMs: fc.integer({ min: 0, max: 10 }),
});
const load = fc.record({ kind: fc.constantFrom("load" as const, "change" as const), model });
const unload = fc.record({ kind: fc.constant("unload" as const), model });
const breakage = fc.record({ kind: fc.constantFrom("break" as const, "mend" as const) });
const lose = fc.record({ kind: fc.constant("lose" as const), model });

interface Run {
  readonly bench: ServerBench;
  /** What became of each inference: its value, or the code of its error. */
  readonly answers: readonly {
    readonly value: number;
    readonly aborted: boolean;
    readonly outcome: unknown;
  }[];
}

/** Plays the steps without waiting for what they begin, then lets time pass until nothing is left to happen. */
async function play(steps: readonly Step[]): Promise<Run> {
  let broken = false;
  let creations = 0;
  let revision = 0;
  let value = 0;
  let pending = 0;
  const answers: { value: number; aborted: boolean; outcome: unknown }[] = [];
  const bench = createServerBench({
    models: Object.fromEntries(MODELS.map((name) => [name, echoModel([1, 2], CONFIG)])),
    backend: {
      latencyNs: 3 * MS,
      // While something is broken, only every other instance fails: the rest of its load must go too.
      onCreate: () => {
        creations += 1;
        return broken && creations % 2 === 0
          ? { kind: "fail", latencyNs: MS, error: new InferenceError("INTERNAL", "broken") }
          : { kind: "create", latencyNs: 2 * MS };
      },
    },
  });
  await bench.start();
  const track = (operation: Promise<unknown>): Promise<unknown> => {
    pending += 1;
    return operation.then(
      (result) => {
        pending -= 1;
        return result;
      },
      (thrown: unknown) => {
        pending -= 1;
        return InferenceError.from(thrown).code;
      },
    );
  };
  for (const name of MODELS) void track(bench.load(name));
  await bench.finish();

  for (const step of steps) {
    switch (step.kind) {
      case "load":
        void track(bench.load(step.model));
        break;
      case "change":
        revision += 1;
        bench.repository.put(step.model, {
          ...echoModel([1, (revision % 3) + 1], CONFIG),
          "labels.txt": String(revision),
        });
        void track(bench.load(step.model));
        break;
      case "unload":
        void track(bench.unload(step.model));
        break;
      case "break":
      case "mend":
        broken = step.kind === "break";
        break;
      case "lose":
        bench.backend.lose(`${step.model}_0`, { culprit: false });
        break;
      case "wait":
        await bench.clock.advance(step.ms * MS);
        break;
      case "infer": {
        value += 1;
        const client = new AbortController();
        const answer = { value, aborted: step.abortAfterMs !== undefined, outcome: undefined as unknown };
        answers.push(answer);
        if (step.abortAfterMs !== undefined) {
          bench.clock.after(step.abortAfterMs * MS, () => {
            client.abort();
          });
        }
        void track(bench.infer(step.model, value, { signal: client.signal }).then(echoedValue)).then(
          (outcome) => {
            answer.outcome = outcome;
          },
        );
      }
    }
  }
  await bench.finish();
  expect(pending).toBe(0);
  return { bench, answers };
}

describe("any interleaving of loads, unloads, changes, failures, losses and requests", () => {
  it("answers every request once with its own value or a fitting error, and leaves nothing behind", async () => {
    const steps = fc.array(fc.oneof(infer, abortedInfer, load, unload, breakage, lose, wait, wait), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { bench, answers } = await play(all);
        for (const { value, aborted, outcome } of answers) {
          const errors = ["NOT_FOUND", "UNAVAILABLE", ...(aborted ? ["CANCELLED"] : [])];
          expect([value, ...errors]).toContain(outcome);
        }
        const served = bench.server.instances().filter(({ state }) => state === "ready").length;
        expect(bench.liveInstances).toBe(served);
        await bench.server.stop();
        expect(bench.liveInstances).toBe(0);
        expect(bench.clock.timerCount).toBe(0);
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it("never refuses a request of a model that is only loaded anew, however that ends", async () => {
    const steps = fc.array(fc.oneof(infer, load, breakage, wait, wait), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { bench, answers } = await play(all);
        expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(({ value }) => value));
        await bench.server.stop();
        expect(bench.liveInstances).toBe(0);
      }),
      { seed: SEED, numRuns: 150 },
    );
  });
});
