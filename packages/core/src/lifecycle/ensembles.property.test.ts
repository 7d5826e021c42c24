import type { MemoryModel, ServerBench } from "@naiad/testing";
import { createServerBench, echoModel, ensembleModel } from "@naiad/testing";
import fc from "fast-check";
import { expect, it } from "vitest";

/** Ensembles of models and of each other, circles among them too. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  e: ["a", "b"],
  f: ["e", "c"],
  g: ["f"],
  p: ["q", "a"],
  q: ["p"],
};
const MODELS = ["a", "b", "c"];
const NAMES = [...MODELS, ...Object.keys(NEEDS)];

function ensembleOf(names: readonly string[]): MemoryModel {
  const tensors = ["x", ...names.slice(1).map((_, index) => `t${String(index)}`), "y"];
  return ensembleModel({
    inputs: "x INT32 [1]",
    outputs: "y INT32 [1]",
    maxBatchSize: 4,
    steps: names.map((name, index) => `${name}: x=${tensors[index] ?? ""} > y=${tensors[index + 1] ?? ""}`),
  });
}

type Action =
  | { readonly kind: "load" | "unload" | "unload with dependents"; readonly name: string }
  /** Its next load finds another file, or none that can be loaded. */
  | { readonly kind: "change" | "break"; readonly name: string };

const actions: fc.Arbitrary<readonly { readonly action: Action; readonly pauseNs: number }[]> = fc.array(
  fc.record({
    action: fc.oneof(
      fc.record({
        kind: fc.constantFrom("load", "load", "unload", "unload with dependents"),
        name: fc.constantFrom(...NAMES),
      }),
      fc.record({ kind: fc.constantFrom("change", "break"), name: fc.constantFrom(...MODELS) }),
    ),
    pauseNs: fc.constantFrom(0, 0, 1, 5, 20),
  }),
  { minLength: 1, maxLength: 25 },
);

/** Resolves when the server has answered, whatever it said. */
async function carryOut(bench: ServerBench, { kind, name }: Action, count: number): Promise<void> {
  const signal = new AbortController().signal;
  switch (kind) {
    case "load":
      await bench.load(name).catch(() => undefined);
      return;
    case "unload":
    case "unload with dependents":
      await bench.server.repositoryModelUnload(
        { modelName: name, unloadDependents: kind !== "unload" },
        { signal },
      );
      return;
    case "change":
      bench.repository.put(name, { ...echoModel(), "1/model.fake": String(count) });
      return;
    case "break":
      bench.repository.put(name, { ...echoModel(), "config.pbtxt": `backend: "absent${String(count)}"` });
  }
}

it("serves no ensemble without its models and hangs in no order of loads and unloads", async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (script) => {
      const models = Object.fromEntries([
        ...MODELS.map((name) => [name, echoModel()] as const),
        ...Object.entries(NEEDS).map(([name, needs]) => [name, ensembleOf(needs)] as const),
      ]);
      const bench = createServerBench({
        models,
        options: { modelLoadThreadCount: 2 },
        backend: { onCreate: () => ({ kind: "create", latencyNs: 10 }) },
      });
      await bench.start();
      let ended = 0;
      for (const [count, { action, pauseNs }] of script.entries()) {
        void carryOut(bench, action, count).then(() => (ended += 1));
        await bench.clock.advance(pauseNs);
      }
      await bench.finish();
      expect(ended).toBe(script.length);

      const index = await bench.index();
      const isReady = (name: string): boolean => index.includes(`${name}:1 READY`);
      for (const [name, needs] of Object.entries(NEEDS)) {
        if (isReady(name)) expect(needs.filter((needed) => !isReady(needed))).toEqual([]);
      }
      expect(isReady("p") || isReady("q")).toBe(false);
      expect(index.filter((line) => /LOADING/.test(line))).toEqual([]);

      await bench.server.stop();
      expect([bench.liveInstances, bench.clock.timerCount]).toEqual([0, 0]);
    }),
    { numRuns: 60, seed: 11 },
  );
}, 60_000);
