import type { InstanceOutcome } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution, SchedulerFixture, SentRequest } from "@naiad/testing";
import { createSchedulerFixture, firstElement, sumAnswer, summingConfig, sumOutcome } from "@naiad/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const US = 1_000;
const MS = 1_000_000;
const IDLE_US = 20_000;

interface Model {
  readonly maxBatchSize: number;
  readonly strategy: string;
  readonly instances: number;
  readonly keepsState: boolean;
  readonly isIterative: boolean;
}

type Step =
  | {
      readonly kind: "send";
      readonly id: number;
      readonly start: boolean;
      readonly end: boolean;
      readonly timeoutUs: number;
    }
  /** Without an id; only an iterative model takes it. */
  | { readonly kind: "sendAlone" }
  | { readonly kind: "advance"; readonly durationUs: number }
  | { readonly kind: "abort"; readonly index: number }
  | { readonly kind: "lose"; readonly instance: number; readonly culprit: boolean }
  | { readonly kind: "regroup"; readonly instances: number };

const model: fc.Arbitrary<Model> = fc.record({
  maxBatchSize: fc.integer({ min: 0, max: 4 }),
  strategy: fc.constantFrom(
    "",
    "direct { max_queue_delay_microseconds: 2000 minimum_slot_utilization: 0.6 }",
    "oldest { max_candidate_sequences: 3 }",
    "oldest { max_queue_delay_microseconds: 1500 preserve_ordering: true }",
  ),
  instances: fc.integer({ min: 1, max: 3 }),
  keepsState: fc.constantFrom(false, false, true),
  isIterative: fc.constantFrom(false, false, true),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      id: fc.integer({ min: 100, max: 107 }),
      start: fc.constantFrom(true, false, false),
      end: fc.constantFrom(true, false, false, false),
      timeoutUs: fc.constantFrom(0, 0, 0, 3000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "sendAlone" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      durationUs: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constant(IDLE_US + 1)),
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
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("regroup" as const),
      instances: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

/** What instances do, execution by execution; then they work. */
const answers = fc.array(fc.constantFrom("work", "work", "work", "work", "again", "fail", "lose"), {
  maxLength: 40,
});

interface Sent {
  readonly request: SentRequest;
  readonly value: number;
  /** The sequence that it belongs to: its id and the last START of it. */
  readonly incarnation: string;
  readonly start: boolean;
}

interface Run {
  readonly model: Model;
  readonly fixture: SchedulerFixture;
  readonly sent: readonly Sent[];
}

async function play(input: {
  readonly model: Model;
  readonly steps: readonly Step[];
  readonly answers: readonly string[];
}): Promise<Run> {
  const { maxBatchSize, strategy, instances, keepsState, isIterative } = input.model;
  let executions = 0;
  const onExecute = (execution: FakeExecution): FakeAnswer => {
    const plan = input.answers[executions] ?? "work";
    executions += 1;
    switch (plan) {
      case "fail":
        return { kind: "fail", latencyNs: MS, error: { code: "INTERNAL", message: "no" } };
      case "lose":
        return { kind: "lose", latencyNs: MS, culprit: executions % 2 === 0 };
      case "again":
        return { kind: "complete", latencyNs: MS, outcomes: execution.requests.map(asksAgain) };
      default:
        return sumAnswer(execution, MS + (executions % 3) * 500 * US);
    }
  };
  /** The state that it would like to keep is that of the step. */
  const asksAgain = (request: FakeExecution["requests"][number]): InstanceOutcome => {
    const outcome = sumOutcome(request);
    return isIterative && request.outputs.length > 0
      ? { kind: "reschedule", outputs: outcome.outputs }
      : outcome;
  };
  const fixture = await createSchedulerFixture({
    config: summingConfig({
      maxBatchSize,
      sequences: `${strategy} max_sequence_idle_microseconds: ${IDLE_US} iterative_sequence: ${isIterative}`,
    }),
    instances,
    onExecute,
    ...(keepsState ? { keepsState } : {}),
  });

  const sent: Sent[] = [];
  const starts = new Map<number, number>();
  const regroupings: Promise<void>[] = [];
  for (const one of input.steps) {
    switch (one.kind) {
      case "send": {
        const { id, start, end, timeoutUs } = one;
        const count = (starts.get(id) ?? 0) + Number(start);
        try {
          const request = fixture.send({ sequence: { id: BigInt(id), start, end }, timeoutUs });
          starts.set(id, count);
          sent.push({ request, value: Number(request.id), incarnation: `${id}.${count}`, start });
        } catch (thrown) {
          expect(InferenceError.from(thrown).message).toContain("must specify the START flag");
        }
        break;
      }
      case "sendAlone":
        if (!isIterative) break;
        {
          const request = fixture.send();
          sent.push({ request, value: Number(request.id), incarnation: `alone ${request.id}`, start: true });
        }
        break;
      case "advance":
        await fixture.clock.advance(one.durationUs * US);
        break;
      case "abort":
        sent[one.index]?.request.abort();
        break;
      case "lose":
        fixture.backend.lose(`m_${one.instance}`, { culprit: one.culprit });
        break;
      case "regroup":
        regroupings.push(regroup(fixture, one.instances));
        await fixture.clock.settle();
        break;
    }
  }
  await fixture.clock.drain();
  await Promise.all(regroupings);
  return { model: input.model, fixture, sent };
}

async function regroup(fixture: SchedulerFixture, instances: number): Promise<void> {
  const prepared = await fixture.group.prepare({
    placements: Array.from({ length: instances }, (_, index) => ({
      instanceName: `m_${index}`,
      device: { kind: "cpu" as const, threads: 1 },
      workerKey: `m_${index}`,
    })),
    create: fixture.backend.create,
    signal: new AbortController().signal,
  });
  prepared.commit();
}

function checkAnswers({ sent, fixture }: Run): void {
  expect(
    sent.filter(({ request }) => request.outcomes.length !== 1).map(({ request }) => request.id),
  ).toEqual([]);
  expect(fixture.scheduler.inflightCount).toBe(0);
}

/** Every answer is the sum of what its sequence was successfully asked before: order, state and isolation at once. */
function checkSums({ sent, model: { isIterative } }: Run): void {
  const sums = new Map<string, number>();
  for (const { request, value, incarnation } of sent) {
    const [outcome] = request.outcomes;
    if (outcome?.kind !== "response") continue;
    const before = sums.get(incarnation) ?? 0;
    const sum = firstElement(outcome.outputs, "y");
    // An iterative request adds its value at every step.
    if (isIterative) expect((sum - before) % value).toBe(0);
    else expect(sum).toBe(before + value);
    sums.set(incarnation, sum);
  }
}

function checkExecutions({ sent, fixture, model: { maxBatchSize, keepsState, isIterative } }: Run): void {
  const incarnationOf = new Map(sent.map(({ request, incarnation }) => [request.id, incarnation]));
  const last = new Map<string, number>();
  const executed = new Map<string, number>();
  for (const { requests } of fixture.backend.executions) {
    expect(requests.length).toBeLessThanOrEqual(Math.max(1, maxBatchSize));
    const real = requests.filter(({ outputs }) => outputs.length > 0);
    expect(real.length).toBeGreaterThan(0);
    expect(new Set(real.map(({ id }) => incarnationOf.get(id))).size).toBe(real.length);
    for (const { id } of real) {
      const incarnation = incarnationOf.get(id) ?? "unknown";
      expect(Number(id)).toBeGreaterThanOrEqual(last.get(incarnation) ?? 0);
      last.set(incarnation, Number(id));
      executed.set(id, (executed.get(id) ?? 0) + 1);
    }
  }
  // An instance that remembers must not be asked twice.
  if (keepsState && !isIterative) expect([...executed.values()].every((count) => count === 1)).toBe(true);
}

describe("the sequence batcher, whatever happens", () => {
  it("answers each request once, in the order of its sequence, with the state of its sequence", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ model, steps: fc.array(step, { minLength: 1, maxLength: 60 }), answers }),
        async (input) => {
          const run = await play(input);
          checkAnswers(run);
          checkSums(run);
          checkExecutions(run);
          await run.fixture.scheduler.stop();
          expect(run.fixture.clock.timerCount).toBe(0);
        },
      ),
      { numRuns: 400, seed: 20260204 },
    );
  }, 60_000);
});
