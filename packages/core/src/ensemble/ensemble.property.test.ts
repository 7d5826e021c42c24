import type { InferenceResponse, Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution, MemoryModel, ServerBench } from "@naiad/testing";
import { createServerBench, ensembleModel, tensorConfigs } from "@naiad/testing";
import type { InstanceOutcome, InstanceRequest } from "../ports.ts";
import fc from "fast-check";
import { expect, it } from "vitest";

/** Step i reads these tensors: 0 is the ensemble's input, n the output of step n - 1. */
interface Pipeline {
  readonly reads: readonly (readonly number[])[];
  readonly batches: readonly boolean[];
  /** Of each step, the worker in whose device memory it leaves what it can. */
  readonly workers: readonly (string | undefined)[];
}

interface Sent {
  readonly value: number;
  readonly atNs: number;
  /** Outputs that are wanted, as numbers of tensors. */
  readonly wanted: readonly number[];
  /** The step that fails for this request; `undefined`: none. */
  readonly failsAt: number | undefined;
  readonly cancelsAtNs: number | undefined;
}

const steps = fc.integer({ min: 1, max: 6 });
const pipelines: fc.Arbitrary<Pipeline> = steps.chain((count) =>
  fc.record({
    reads: fc.tuple(
      ...Array.from({ length: count }, (_, index) =>
        fc.uniqueArray(fc.integer({ min: 0, max: index }), { minLength: 1, maxLength: 3 }),
      ),
    ),
    batches: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
    workers: fc.array(fc.constantFrom(undefined, "gpu:0", "gpu:0", "gpu:0", "gpu:1"), {
      minLength: count,
      maxLength: count,
    }),
  }),
);
const sent = (count: number): fc.Arbitrary<Sent> =>
  fc.record({
    value: fc.integer({ min: 0, max: 1000 }),
    atNs: fc.integer({ min: 0, max: 20 }),
    wanted: fc.uniqueArray(fc.integer({ min: 1, max: count }), { minLength: 1 }),
    failsAt: fc.option(fc.integer({ min: 0, max: count - 1 }), { nil: undefined, freq: 4 }),
    cancelsAtNs: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined, freq: 4 }),
  });
const runs = pipelines.chain((pipeline) =>
  fc.record({
    pipeline: fc.constant(pipeline),
    requests: fc.array(sent(pipeline.reads.length), { minLength: 1, maxLength: 8 }),
    latencies: fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 20 }),
    maxInflight: fc.constantFrom(0, 0, 1, 2),
  }),
);
const losses = fc.array(
  fc.record({ key: fc.constantFrom("gpu:0", "gpu:1"), atNs: fc.integer({ min: 1, max: 60 }) }),
  { minLength: 1, maxLength: 3 },
);

/** What the step makes of the numbers it reads: no other step makes the same of them. */
function compute(stepIndex: number, inputs: readonly number[]): number {
  return inputs.reduce((sum, value, place) => (sum + value * (2 * place + 3)) % 99_991, stepIndex + 1);
}

function expectedOutputs({ reads }: Pipeline, value: number): readonly number[] {
  const tensors = [value];
  for (const [index, read] of reads.entries())
    tensors.push(
      compute(
        index,
        read.map((from) => tensors[from] ?? NaN),
      ),
    );
  return tensors;
}

function neededSteps({ reads }: Pipeline, wanted: readonly number[]): ReadonlySet<number> {
  const needed = new Set<number>();
  const tensors = [...wanted];
  for (const tensor of tensors) {
    if (tensor === 0 || needed.has(tensor - 1)) continue;
    needed.add(tensor - 1);
    tensors.push(...(reads[tensor - 1] ?? []));
  }
  return needed;
}

/** Every tensor that a step writes is an output of the ensemble, so that any of them can be asked for. */
function modelsOf({ reads, batches }: Pipeline, maxInflight: number): Readonly<Record<string, MemoryModel>> {
  const names = reads.map((_, index) => `t${String(index + 1)}`);
  const stepModels = reads.map((read, index): [string, MemoryModel] => [
    `m${String(index)}`,
    {
      "config.pbtxt": [
        'backend: "fake" max_batch_size: 4',
        ...tensorConfigs("input", read.map((_, place) => `I${String(place)} INT32 [1]`).join("; ")),
        ...tensorConfigs("output", "O INT32 [1]"),
        batches[index] === true ? "dynamic_batching { max_queue_delay_microseconds: 0 }" : "",
      ].join("\n"),
      "1/model.fake": "",
    },
  ]);
  const ensemble = ensembleModel({
    inputs: "t0 INT32 [1]",
    outputs: names.map((name) => `${name} INT32 [1]`).join("; "),
    maxBatchSize: 4,
    scheduling: `max_inflight_requests: ${maxInflight}`,
    steps: reads.map(
      (read, index) =>
        `m${String(index)}: ${read.map((from, place) => `I${String(place)}=t${String(from)}`).join(", ")} > O=t${String(index + 1)}`,
    ),
  });
  return { ...Object.fromEntries(stepModels), e: ensemble };
}

const element = (tensor: Tensor | undefined): number =>
  tensor?.kind === "bytes" ? (new Int32Array(tensor.bytes.slice().buffer)[0] ?? NaN) : NaN;

const int32 = (name: string, value: number): Tensor => ({
  kind: "bytes",
  name,
  datatype: "INT32",
  shape: [1, 1],
  bytes: new Uint8Array(Int32Array.of(value).buffer),
});

interface Answer {
  readonly atNs: number;
  readonly outputs?: Readonly<Record<string, number>>;
  readonly error?: InferenceError;
}

async function play({
  pipeline,
  requests,
  latencies,
  maxInflight,
  workerLosses = [],
}: {
  readonly pipeline: Pipeline;
  readonly requests: readonly Sent[];
  readonly latencies: readonly number[];
  readonly maxInflight: number;
  readonly workerLosses?: readonly { readonly key: string; readonly atNs: number }[];
}): Promise<{ readonly bench: ServerBench; readonly answers: readonly (readonly Answer[])[] }> {
  let executions = 0;
  const stepOf = (instanceName: string): number => Number(/^m(\d+)/.exec(instanceName)?.[1]);
  const outcome = (stepIndex: number, { id, inputs }: InstanceRequest): InstanceOutcome => {
    if (requests[Number(id)]?.failsAt === stepIndex) {
      return { kind: "error", error: { code: "INTERNAL", message: `step ${stepIndex} failed` } };
    }
    const output = int32(
      "O",
      compute(
        stepIndex,
        inputs.map((input) => element(input)),
      ),
    );
    return { kind: "response", outputs: [output], parameters: {} };
  };
  const onExecute = ({ instanceName, requests: batch }: FakeExecution): FakeAnswer => {
    const latencyNs = latencies[executions % latencies.length] ?? 0;
    executions += 1;
    const stepIndex = stepOf(instanceName);
    return { kind: "complete", latencyNs, outcomes: batch.map((request) => outcome(stepIndex, request)) };
  };
  const deviceWorkerOf = (instanceName: string): string | undefined => pipeline.workers[stepOf(instanceName)];
  const bench = createServerBench({
    models: modelsOf(pipeline, maxInflight),
    backend: { onExecute, deviceWorkerOf },
  });
  await bench.start();
  await bench.load("e");
  const beginNs = bench.clock.nowNs();
  const answers = requests.map((): Answer[] => []);
  for (const { key, atNs } of workerLosses) {
    bench.clock.after(atNs, () => {
      bench.backend.loseWorker(key);
    });
  }
  for (const [index, request] of requests.entries()) {
    const controller = new AbortController();
    bench.clock.after(request.atNs, () => {
      bench.server
        .modelInfer(
          {
            modelName: "e",
            modelVersion: "",
            id: String(index),
            parameters: {},
            inputs: [int32("t0", request.value)],
            outputs: request.wanted.map((tensor) => ({ name: `t${String(tensor)}` })),
          },
          { signal: controller.signal },
        )
        .then(
          ({ outputs }: InferenceResponse) => {
            const given = Object.fromEntries(outputs.map((output) => [output.name, element(output)]));
            answers[index]?.push({ atNs: bench.clock.nowNs() - beginNs, outputs: given });
          },
          (thrown: unknown) => {
            answers[index]?.push({ atNs: bench.clock.nowNs() - beginNs, error: InferenceError.from(thrown) });
          },
        );
    });
    if (request.cancelsAtNs === undefined) continue;
    bench.clock.after(request.cancelsAtNs, () => {
      controller.abort();
    });
  }
  await bench.finish();
  return { bench, answers };
}

it("gives every request its own right answer, its first error or its cancel, and leaves nothing behind", async () => {
  await fc.assert(
    fc.asyncProperty(runs, async (run) => {
      const { bench, answers } = await play(run);
      for (const [index, { value, wanted, failsAt, cancelsAtNs, atNs }] of run.requests.entries()) {
        expect(answers[index], `request ${index} has one answer`).toHaveLength(1);
        const answer = answers[index]?.[0];
        const needed = neededSteps(run.pipeline, wanted);
        const fails = failsAt !== undefined && needed.has(failsAt);
        if (answer?.error === undefined) {
          const tensors = expectedOutputs(run.pipeline, value);
          expect(fails, `request ${index} must fail`).toBe(false);
          expect(answer?.outputs).toEqual(
            Object.fromEntries(wanted.map((tensor) => [`t${String(tensor)}`, tensors[tensor]])),
          );
        } else if (answer.error.code === "CANCELLED") {
          expect(cancelsAtNs, `request ${index} was cancelled`).toBeDefined();
          expect(answer.atNs).toBe(Math.max(cancelsAtNs ?? NaN, atNs));
        } else {
          expect(fails).toBe(true);
          expect(answer.error.message).toBe(`in ensemble 'e', step ${String(failsAt)} failed`);
        }
      }
      const { model_stats: stats } = await bench.server.modelStatistics(
        { modelName: "", modelVersion: "" },
        { signal: new AbortController().signal },
      );
      const ensemble = stats.find(({ name }) => name === "e")?.inference_stats;
      const failed = answers.filter(([answer]) => answer?.error !== undefined).length;
      // A request whose sender had gone before it came is refused, and not counted.
      expect(ensemble?.success.count).toBe(run.requests.length - failed);
      expect(bench.backend.deviceMemories).toMatchObject({ liveCount: 0, faults: [] });
      await bench.unload("e");
      await bench.server.stop();
      expect([bench.liveInstances, bench.clock.timerCount]).toEqual([0, 0]);
    }),
    { numRuns: 60, seed: 5 },
  );
}, 60_000);

it("survives workers that end with tensors in their memory: right answers or errors, nothing disposed twice or never", async () => {
  await fc.assert(
    fc.asyncProperty(runs, losses, async (run, workerLosses) => {
      const { bench, answers } = await play({ ...run, workerLosses });
      for (const [index, { value, wanted, failsAt, cancelsAtNs }] of run.requests.entries()) {
        expect(answers[index], `request ${index} has one answer`).toHaveLength(1);
        const { outputs, error } = answers[index]?.[0] ?? {};
        if (outputs !== undefined) {
          const tensors = expectedOutputs(run.pipeline, value);
          expect(outputs).toEqual(
            Object.fromEntries(wanted.map((tensor) => [`t${String(tensor)}`, tensors[tensor]])),
          );
        } else if (error?.code === "CANCELLED") expect(cancelsAtNs).toBeDefined();
        else if (error?.message !== `in ensemble 'e', step ${String(failsAt)} failed`) {
          expect(error?.message).toMatch(
            /^in ensemble 'e', .*(was lost|lost with its worker|no working instance)/,
          );
        }
      }
      expect(bench.backend.deviceMemories).toMatchObject({ liveCount: 0, faults: [] });
      await bench.server.stop();
      expect(bench.liveInstances).toBe(0);
    }),
    { numRuns: 60, seed: 7 },
  );
}, 60_000);

it("executes only what the wanted outputs need", async () => {
  await fc.assert(
    fc.asyncProperty(runs, async ({ pipeline, requests, latencies, maxInflight }) => {
      const calm = requests.map((request) => ({ ...request, failsAt: undefined, cancelsAtNs: undefined }));
      const { bench } = await play({ pipeline, requests: calm, latencies, maxInflight });
      const executed = bench.backend.executions.flatMap(({ instanceName, requestIds }) =>
        requestIds.map((id) => `${id} ${instanceName.replace(/_0$/, "")}`),
      );
      const needed = calm.flatMap(({ wanted }, index) =>
        [...neededSteps(pipeline, wanted)].map((step) => `${String(index)} m${String(step)}`),
      );
      expect(executed.toSorted()).toEqual(needed.toSorted());
      await bench.server.stop();
    }),
    { numRuns: 30, seed: 6 },
  );
}, 60_000);
