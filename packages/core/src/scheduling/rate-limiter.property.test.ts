import { createServerBench, echoModel } from "@naiad/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Turns } from "./rate-limiter.ts";
import { createRateLimiter } from "./rate-limiter.ts";

const SEED = 20260731;
const UNITS = 4;

interface Member {
  readonly name: string;
  readonly count: number;
  readonly priority: number;
  readonly turns: Turns;
  executing: boolean;
}

const MEMBER = fc.record({
  count: fc.integer({ min: 0, max: UNITS }),
  priority: fc.integer({ min: 1, max: 5 }),
});

it("gives every instance that always has work its turn within a bound, and never more units than there are", () => {
  fc.assert(
    fc.property(
      fc.array(MEMBER, { minLength: 1, maxLength: 7 }),
      fc.array(fc.nat(), { minLength: 150, maxLength: 150 }),
      (specs, picks) => {
        const limiter = createRateLimiter([{ name: "r", count: UNITS }]);
        const members: Member[] = [];
        /** The one that has executed for longest first. */
        const executing: Member[] = [];
        for (const [index, { count, priority }] of specs.entries()) {
          const member: Member = {
            name: `m_${index}`,
            count,
            priority,
            executing: false,
            turns: limiter.join(
              {
                instanceName: `m_${index}`,
                workerKey: "w",
                device: { kind: "cpu", threads: 1 },
                rateLimit: { priority, resources: [{ name: "r", global: false, count }] },
              },
              {
                wants: () => !member.executing,
                take: () => {
                  member.executing = true;
                  executing.push(member);
                  waited.set(member, 0);
                  return true;
                },
              },
            ),
          };
          members.push(member);
        }
        /** Executions of others that have ended while this one waited. */
        const waited = new Map(members.map((member) => [member, 0]));
        const boundOf = ({ priority }: Member): number =>
          2 * members.reduce((sum, other) => sum + 3 + priority / other.priority, 0);

        limiter.advance();
        for (const pick of picks) {
          expect(executing.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(UNITS);
          const [ended] = executing.splice(pick % 3 === 0 ? pick % executing.length : 0, 1);
          if (ended === undefined) throw new Error("somebody always executes");
          ended.executing = false;
          ended.turns.release();
          for (const member of members) {
            if (!member.executing) waited.set(member, (waited.get(member) ?? 0) + 1);
            expect(waited.get(member)).toBeLessThanOrEqual(boundOf(member));
          }
        }
      },
    ),
    { seed: SEED, numRuns: 300 },
  );
});

const MODEL = fc.record({
  local: fc.integer({ min: 0, max: 3 }),
  global: fc.integer({ min: 0, max: 2 }),
  priority: fc.integer({ min: 0, max: 4 }),
  instances: fc.integer({ min: 1, max: 2 }),
  batching: fc.constantFrom(
    "",
    "dynamic_batching { }",
    "dynamic_batching { max_queue_delay_microseconds: 700 }",
    "dynamic_batching { priority_levels: 2 default_priority_level: 2 }",
  ),
});

const STEP = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant("infer" as const), at: fc.nat(), priority: fc.nat(2) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), at: fc.integer({ min: 0, max: 3000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), at: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("lose" as const, "unload" as const, "load" as const),
      at: fc.nat(),
    }),
  },
);

const US = 1000;
const GIVEN = [
  { name: "r", count: 3 },
  { name: "s", count: 2 },
];

it("answers every request and keeps to the pools, whatever is cancelled, lost, unloaded and loaded", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(MODEL, { minLength: 1, maxLength: 4 }),
      fc.array(STEP, { maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 20 }),
      async (models, steps, script) => {
        const executions: { readonly instance: string; readonly startNs: number; endNs: number }[] = [];
        const bench = createServerBench({
          models: Object.fromEntries(
            models.map(({ local, global, priority, instances, batching }, index) => [
              `m${index}`,
              echoModel(
                [1],
                `${batching} instance_group { name: "m${index}" count: ${instances} kind: KIND_CPU rate_limiter {
                  resources [ { name: "r" count: ${local} }, { name: "s" global: true count: ${global} } ]
                  priority: ${priority} } }`,
              ),
            ]),
          ),
          options: { rateLimit: "execution_count", rateLimitResources: GIVEN, loadModels: ["*"] },
          backend: {
            onExecute: ({ instanceName, startNs }) => {
              const word = script[executions.length % script.length] ?? 0;
              const latencyNs = word === 9 ? Infinity : (1 + word) * 100 * US;
              executions.push({ instance: instanceName, startNs, endNs: startNs + latencyNs });
              if (word === 9) return { kind: "hang" };
              if (word === 8) return { kind: "lose", latencyNs, culprit: true };
              return { kind: "complete", latencyNs };
            },
          },
        });
        await bench.start();

        const answers: Promise<unknown>[] = [];
        const controllers: AbortController[] = [];
        const lose = (instance: string): void => {
          const nowNs = bench.clock.nowNs();
          bench.backend.lose(instance);
          for (const execution of executions) {
            if (execution.instance === instance) execution.endNs = Math.min(execution.endNs, nowNs);
          }
        };
        for (const step of steps) {
          const index = step.at % models.length;
          const modelName = `m${index}`;
          switch (step.kind) {
            case "infer": {
              const controller = new AbortController();
              controllers.push(controller);
              const { signal } = controller;
              answers.push(
                bench.infer(modelName, step.at, { priority: step.priority, signal }).catch(() => undefined),
              );
              await bench.clock.settle();
              break;
            }
            case "advance":
              await bench.clock.advance(step.at * US);
              break;
            case "cancel":
              controllers[step.at % Math.max(1, controllers.length)]?.abort();
              break;
            case "lose":
              lose(`${modelName}_${step.at % (models[index]?.instances ?? 1)}`);
              await bench.clock.settle();
              break;
            case "load":
              await bench.load(modelName);
              break;
            case "unload":
              await bench.unload(modelName);
          }
        }

        await bench.finish();
        while (bench.backend.runningCount > 0) {
          for (const { instance, endNs } of executions) if (endNs === Infinity) lose(instance);
          await bench.finish();
        }
        await Promise.all(answers);
        for (const { startNs } of executions) {
          const used = { r: 0, s: 0 };
          for (const { instance, startNs: otherStartNs, endNs } of executions) {
            if (otherStartNs > startNs || endNs <= startNs) continue;
            const model = models[Number(instance.slice(1, instance.indexOf("_")))];
            used.r += model?.local ?? 0;
            used.s += model?.global ?? 0;
          }
          expect(used.r).toBeLessThanOrEqual(3);
          expect(used.s).toBeLessThanOrEqual(2);
        }
      },
    ),
    { seed: SEED, numRuns: 60 },
  );
}, 60_000);
