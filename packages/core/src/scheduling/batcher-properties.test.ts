import type { FakeAnswer, FakeExecution, SchedulerFixture, SentRequest } from "@naiad/testing";
import type { RequestOutcome } from "./scheduler.ts";
import { createSchedulerFixture } from "@naiad/testing";
import { InferenceError } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const US = 1_000;
const MS = 1_000_000;

interface Model {
  readonly maxBatchSize: number;
  readonly preferred: readonly number[];
  readonly delayUs: number;
  readonly instances: number;
  readonly levels: number;
  readonly timeoutUs: number;
  readonly timeoutAction: "REJECT" | "DELAY";
  readonly maxQueueSize: number;
  readonly preserveOrdering: boolean;
}

type Step =
  | {
      readonly kind: "send";
      readonly rows: number;
      readonly width: number;
      readonly priority: number;
      readonly timeoutUs: number;
      readonly isSequence: boolean;
    }
  | { readonly kind: "advance"; readonly durationUs: number }
  | { readonly kind: "abort"; readonly index: number }
  | { readonly kind: "lose"; readonly instance: number; readonly culprit: boolean };

const model: fc.Arbitrary<Model> = fc.record({
  maxBatchSize: fc.integer({ min: 1, max: 8 }),
  preferred: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
  delayUs: fc.constantFrom(0, 0, 500, 3000),
  instances: fc.integer({ min: 1, max: 3 }),
  levels: fc.constantFrom(0, 0, 3),
  timeoutUs: fc.constantFrom(0, 0, 1500),
  timeoutAction: fc.constantFrom("REJECT", "DELAY"),
  maxQueueSize: fc.constantFrom(0, 0, 4),
  preserveOrdering: fc.boolean(),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      rows: fc.integer({ min: 0, max: 8 }),
      width: fc.constantFrom(1, 1, 1, 2),
      priority: fc.integer({ min: 0, max: 4 }),
      timeoutUs: fc.constantFrom(0, 0, 200),
      isSequence: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      durationUs: fc.integer({ min: 0, max: 2000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("abort" as const), index: fc.nat(60) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lose" as const),
      instance: fc.nat(2),
      culprit: fc.boolean(),
    }),
  },
);

/** What the instances do, execution by execution; then they work. */
const answers: fc.Arbitrary<readonly FakeAnswer[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("complete" as const),
        latencyNs: fc.integer({ min: 0, max: 3 * MS }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.constant({ kind: "fail" as const, error: { code: "INTERNAL" as const, message: "no" } }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("lose" as const),
        culprit: fc.boolean(),
        latencyNs: fc.integer({ min: 0, max: MS }),
      }),
    },
  ),
  { maxLength: 30 },
);

/** Which creations of instances fail, after those of the start. */
const failedCreations = fc.array(fc.constantFrom(false, false, true), { maxLength: 12 });

interface Run {
  readonly fixture: SchedulerFixture;
  readonly sent: readonly SentRequest[];
  readonly levelOf: ReadonlyMap<string, number>;
  /** Requests that got what an instance made of them, in the order of the answers. */
  readonly executedAnswers: readonly string[];
  /** The most requests of one level that ever waited for their first execution. */
  readonly mostWaiting: number;
}

async function play(
  run: { readonly model: Model; readonly steps: readonly Step[] } & {
    readonly answers: readonly FakeAnswer[];
    readonly failedCreations: readonly boolean[];
  },
): Promise<Run> {
  const { model } = run;
  let executionCount = 0;
  let creationCount = 0;
  const fixture = await createSchedulerFixture({
    config: configOf(model),
    instances: model.instances,
    latencyNs: 700 * US,
    onExecute: () => run.answers[executionCount++] ?? { kind: "complete" },
    onCreate: () => {
      const fails = run.failedCreations[creationCount++ - model.instances] ?? false;
      return fails
        ? { kind: "fail", latencyNs: MS, error: new InferenceError("INTERNAL", "cannot be created") }
        : { kind: "create", latencyNs: MS };
    },
  });
  const sent: SentRequest[] = [];
  const levelOf = new Map<string, number>();
  const executedAnswers: string[] = [];
  let mostWaiting = 0;
  const countWaiting = (level: number): number => {
    const started = new Set(fixture.backend.executions.flatMap((execution) => execution.requestIds));
    const nowNs = fixture.clock.nowNs();
    return sent.filter(
      ({ id, outcomes, sentNs }) =>
        outcomes.length === 0 &&
        !started.has(id) &&
        levelOf.get(id) === level &&
        // What has expired at this very moment is answered at its end.
        !(model.timeoutAction === "REJECT" && model.timeoutUs > 0 && sentNs + 200 * US <= nowNs),
    ).length;
  };
  for (const step of run.steps) {
    switch (step.kind) {
      case "send": {
        const { width, isSequence, ...rest } = step;
        const rows = Math.min(step.rows, model.maxBatchSize);
        const sequence = isSequence ? { sequence: { id: 7n, start: false, end: false } } : {};
        try {
          // Only rows without content may be none.
          const dims = [rows === 0 ? 0 : width];
          const id = String(sent.length + 1);
          const onAnswer = (outcome: RequestOutcome): void => {
            if (outcome.kind !== "error" || outcome.reason === "BACKEND") executedAnswers.push(id);
          };
          const request = fixture.send({ ...rest, rows, dims, ...sequence, onAnswer });
          expect(request).toMatchObject({ id, outcomes: [] });
          sent.push(request);
          const hasLevel = step.priority >= 1 && step.priority <= model.levels;
          const level = model.levels === 0 ? 0 : hasLevel ? step.priority : 2;
          levelOf.set(id, level);
          mostWaiting = Math.max(mostWaiting, countWaiting(level));
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "UNAVAILABLE" });
        }
        break;
      }
      case "advance":
        await fixture.clock.advance(step.durationUs * US);
        break;
      case "abort":
        sent[step.index]?.abort();
        break;
      case "lose":
        fixture.backend.lose(`m_${step.instance}`, { culprit: step.culprit });
        break;
    }
  }
  await fixture.clock.drain({ maxTimers: 2_000 });
  return { fixture, sent, levelOf, executedAnswers, mostWaiting };
}

function configOf(model: Model): string {
  const preferred = model.preferred.filter((size) => size <= model.maxBatchSize);
  return `
    name: "m" backend: "fake" max_batch_size: ${model.maxBatchSize}
    input { name: "X" data_type: TYPE_FP32 dims: [-1] }
    output { name: "Y" data_type: TYPE_FP32 dims: [-1] }
    dynamic_batching {
      preferred_batch_size: [${preferred.join()}]
      max_queue_delay_microseconds: ${model.delayUs}
      preserve_ordering: ${model.preserveOrdering}
      priority_levels: ${model.levels}
      default_priority_level: ${model.levels === 0 ? 0 : 2}
      default_queue_policy {
        timeout_action: ${model.timeoutAction}
        default_timeout_microseconds: ${model.timeoutUs}
        allow_timeout_override: ${model.timeoutUs > 0}
        max_queue_size: ${model.maxQueueSize}
      }
    }`;
}

const run = fc.record({ model, steps: fc.array(step, { maxLength: 60 }), answers, failedCreations });
const settings = { seed: 20260401, numRuns: 300 };

describe("the dynamic batcher under random arrivals, cancels, timeouts and losses", () => {
  it("answers every accepted request exactly once and rightly", async () => {
    await fc.assert(
      fc.asyncProperty(run, async (input) => {
        const { fixture, sent } = await play(input);
        expect(fixture.scheduler.inflightCount).toBe(0);
        for (const { outcomes, inputs } of sent) {
          expect(outcomes).toHaveLength(1);
          const [outcome] = outcomes;
          if (outcome?.kind === "response") {
            expect(outcome.outputs).toMatchObject([{ name: "Y", bytes: inputs[0]?.bytes }]);
          }
        }
        const { inference_stats } = fixture.statistics.snapshot({ name: "m", version: "1" });
        expect(inference_stats.success.count + inference_stats.fail.count).toBe(sent.length);

        await fixture.scheduler.stop();
        await fixture.group.dispose();
        expect(fixture.clock.timerCount).toBe(0);
        expect(fixture.backend.liveCount).toBe(0);
      }),
      settings,
    );
  });

  it("never goes over the maximum, never mixes shapes, never executes a request more often than it may", async () => {
    await fc.assert(
      fc.asyncProperty(run, async (input) => {
        const { fixture, sent } = await play(input);
        const executions = new Map<string, number>();
        for (const execution of fixture.backend.executions) {
          expect(execution.rows).toBeLessThanOrEqual(input.model.maxBatchSize);
          expect(widths(execution).size).toBe(1);
          for (const id of execution.requestIds) executions.set(id, (executions.get(id) ?? 0) + 1);
        }
        for (const { id, outcomes } of sent) {
          const count = executions.get(id) ?? 0;
          expect(count).toBeLessThanOrEqual(8);
          if (outcomes[0]?.kind === "response") expect(count).toBeGreaterThan(0);
        }
      }),
      settings,
    );
  });

  it("never has more of one level waiting than the queue may hold", async () => {
    const limited = run.filter(({ model }) => model.maxQueueSize > 0);
    await fc.assert(
      fc.asyncProperty(limited, async (input) => {
        const { mostWaiting } = await play(input);
        expect(mostWaiting).toBeLessThanOrEqual(input.model.maxQueueSize);
      }),
      settings,
    );
  });

  it("answers in the order of arrival where it preserves that, but for what is cancelled and expires", async () => {
    const ordered = run.map((input) => ({ ...input, model: { ...input.model, preserveOrdering: true } }));
    await fc.assert(
      fc.asyncProperty(ordered, async (input) => {
        const { executedAnswers } = await play(input);
        expect(executedAnswers).toEqual(executedAnswers.toSorted((a, b) => Number(a) - Number(b)));
      }),
      settings,
    );
  });

  it("starts requests of one level in the order they came", async () => {
    const rejecting = run.filter(({ model }) => model.timeoutUs === 0 || model.timeoutAction === "REJECT");
    await fc.assert(
      fc.asyncProperty(rejecting, async (input) => {
        const { fixture, levelOf } = await play(input);
        const started = new Set(fixture.backend.executions.flatMap((execution) => execution.requestIds));
        for (const level of [1, 2, 3]) {
          const ids = [...started]
            .filter((id) => input.model.levels === 0 || levelOf.get(id) === level)
            .map(Number);
          expect(ids).toEqual(ids.toSorted((a, b) => a - b));
        }
      }),
      settings,
    );
  });
});

function widths(execution: FakeExecution): Set<number | undefined> {
  return new Set(execution.requests.map((request) => request.inputs[0]?.shape[1]));
}
