import type {
  Clock,
  ExecuteContext,
  ExecutionResult,
  InstanceOutcome,
  InstanceRequest,
  InstanceResponse,
  ModelInstance,
} from "@naiad/core";
import type { Tensor } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution, FakeStep } from "./fake-answer.ts";
import type { FakeDeviceMemories, FakeDeviceMemory } from "./fake-device-memory.ts";
import { sleep } from "./sleep.ts";

interface FakeInstanceOptions {
  readonly clock: Clock;
  readonly latencyNs?: number;
  readonly onExecute?: (execution: FakeExecution) => FakeAnswer;
  readonly instanceName: string;
  readonly generation: number;
  readonly workerKey: string | undefined;
  readonly deviceMemory: FakeDeviceMemory | undefined;
  readonly executions: FakeExecution[];
  readonly memories: FakeDeviceMemories;
}

type Loss = Extract<ExecutionResult, { readonly kind: "lost" }>;

/** Plays what `onExecute` answers, and writes down what it was asked. */
export class FakeInstance implements ModelInstance {
  readonly device = { executionProvider: "other", build: "fake", threads: 1 } as const;
  readonly deviceMemory?: FakeDeviceMemory;
  readonly lost: Promise<string>;
  /** Lost or disposed. */
  readonly gone: Promise<void>;
  readonly #options: FakeInstanceOptions;
  readonly #loss: { readonly promise: Promise<Loss>; readonly resolve: (loss: Loss) => void };
  readonly #end: { readonly promise: Promise<void>; readonly resolve: () => void };
  readonly #dying = new AbortController();
  #running: Promise<ExecutionResult> | undefined = undefined;
  #isGone = false;

  constructor(options: FakeInstanceOptions) {
    this.#options = options;
    if (options.deviceMemory !== undefined) this.deviceMemory = options.deviceMemory;
    this.#loss = deferred<Loss>();
    this.#end = deferred();
    this.lost = this.#loss.promise.then(({ reason }) => reason);
    this.gone = this.#end.promise;
  }

  get workerKey(): string | undefined {
    return this.#options.workerKey;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async execute(requests: readonly InstanceRequest[], context?: ExecuteContext): Promise<ExecutionResult> {
    if (this.#running !== undefined) throw new Error("an instance executes one batch at a time");
    this.#running = Promise.race([this.#play(requests, context), this.#loss.promise]);
    const result = await this.#running;
    this.#running = undefined;
    return result;
  }

  lose(loss: Loss): void {
    this.#isGone = true;
    this.#dying.abort();
    this.#loss.resolve(loss);
    this.#end.resolve();
  }

  async #playSteps(
    steps: readonly FakeStep[],
    request: InstanceRequest,
    signal: AbortSignal,
    { index, responses }: { readonly index: number; readonly responses: ExecuteContext["responses"] },
  ): Promise<void> {
    const { clock } = this.#options;
    try {
      for (const step of steps) {
        await sleep(clock, step.afterNs ?? 0, AbortSignal.any([signal, this.#dying.signal]));
        if (step.kind === "end") responses.end(index, step.error);
        else await responses.response(index, scripted(step, request), step.final && { final: true });
      }
    } catch {
      if (!this.#isGone) responses.end(index);
    }
  }

  async dispose(): Promise<void> {
    await this.#running;
    this.#isGone = true;
    this.#end.resolve();
  }

  /** Only of an instance on a device. */
  #readbacks(outcomes: readonly InstanceOutcome[], readCount: number): { readonly readbacks?: number } {
    if (this.deviceMemory === undefined) return {};
    const outputs = outcomes.flatMap((outcome) => ("outputs" in outcome ? outcome.outputs : []));
    return { readbacks: readCount + outputs.filter(({ kind }) => kind === "bytes").length };
  }

  async #play(
    given: readonly InstanceRequest[],
    context: ExecuteContext | undefined,
  ): Promise<ExecutionResult> {
    const { clock, instanceName, generation, executions, onExecute, memories } = this.#options;
    const { requests, lost, readCount } = memories.read(given, this.deviceMemory);
    const execution: FakeExecution = {
      instanceName,
      generation,
      requests,
      requestIds: requests.map((request) => request.id),
      rows: requests.reduce((rows, request) => rows + Math.max(1, request.batchSize), 0),
      startNs: clock.nowNs(),
    };
    executions.push(execution);
    if (this.#isGone) return { kind: "lost", reason: "it was gone already", culprit: false };
    const answer = onExecute?.(execution) ?? { kind: "complete" };
    if (answer.kind === "hang") return this.#loss.promise;

    if (answer.kind === "decoupled") {
      const { signals = [], responses } = context ?? {};
      for (const [index, request] of requests.entries()) {
        const steps = answer.scripts[index] ?? answer.scripts.at(-1) ?? [];
        const signal = signals[index];
        if (responses !== undefined && signal !== undefined) {
          void this.#playSteps(steps, request, signal, { index, responses });
        }
      }
    }
    const latencyNs = answer.latencyNs ?? this.#options.latencyNs ?? 0;
    await sleep(clock, latencyNs, this.#dying.signal);
    switch (answer.kind) {
      case "complete": {
        const outcomes = answer.outcomes ?? requests.map(echo);
        const kept = requests.map((request, index) => {
          const outcome = outcomes[index];
          if (lost.has(request) || outcome === undefined) return LOST_INPUT;
          return this.deviceMemory?.keep(outcome, request) ?? outcome;
        });
        return {
          kind: "completed",
          outcomes: outcomes.length === requests.length ? kept : outcomes,
          ...this.#readbacks(kept, readCount),
          times: answer.times ?? { computeInputNs: 0, computeInferNs: latencyNs, computeOutputNs: 0 },
          ...(answer.nonFiniteOutputs !== undefined && { nonFiniteOutputs: answer.nonFiniteOutputs }),
        };
      }
      case "decoupled":
        return {
          kind: "completed",
          outcomes: answer.outcomes ?? requests.map(() => ({ kind: "decoupled" })),
          times: { computeInputNs: 0, computeInferNs: latencyNs, computeOutputNs: 0 },
        };
      case "fail": {
        const { error } = answer;
        return {
          kind: "completed",
          outcomes: requests.map(() => ({ kind: "error", error })),
          times: { computeInputNs: 0, computeInferNs: latencyNs, computeOutputNs: 0 },
        };
      }
      case "lose": {
        const loss: Loss = {
          kind: "lost",
          reason: answer.reason ?? "lost by the script",
          culprit: answer.culprit,
        };
        this.lose(loss);
        return loss;
      }
    }
  }
}

const LOST_INPUT: InstanceOutcome = {
  kind: "error",
  error: { code: "UNAVAILABLE", message: "an input was lost with its worker" },
};

/** Every output is one FP32 or INT32 element, whatever its shape is to be. */
function scripted(
  step: Exclude<FakeStep, { readonly kind: "end" }>,
  request: InstanceRequest,
): InstanceResponse {
  if (step.kind === "error") return { kind: "error", error: step.error };
  const { value } = step;
  const outputs = request.outputs.map((name, index): Tensor => {
    const datatype = (request.inputs[index] ?? request.inputs.at(-1))?.datatype ?? "FP32";
    const element = datatype === "INT32" ? Int32Array.of(value) : Float32Array.of(value);
    const shape = request.batchSize > 0 ? [1, 1] : [1];
    return { kind: "bytes", name, datatype, shape, bytes: new Uint8Array(element.buffer) };
  });
  return { kind: "response", outputs, parameters: {} };
}

/** Output i is a copy of input i, or of the last input where there are fewer. */
function echo(request: InstanceRequest): InstanceOutcome {
  const outputs: Tensor[] = [];
  for (const [index, name] of request.outputs.entries()) {
    const input = request.inputs[index] ?? request.inputs.at(-1);
    if (input === undefined) continue;
    outputs.push(
      input.kind === "bytes" ? { ...input, name, bytes: input.bytes.slice() } : { ...input, name },
    );
  }
  return { kind: "response", outputs, parameters: {} };
}

function deferred<Value = void>(): {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
} {
  let settle: ((value: Value) => void) | undefined;
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: (value) => settle?.(value) };
}
