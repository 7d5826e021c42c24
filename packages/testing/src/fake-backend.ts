import type {
  Backend,
  Clock,
  ExecuteContext,
  ExecutionResult,
  ExecutionTimes,
  InstanceOutcome,
  InstancePlacement,
  InstanceRequest,
  InstanceResponse,
  ModelInstance,
} from "@naiad/core";
import type { Tensor, WireError } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeDeviceMemories, FakeDeviceMemory } from "./fake-device-memory.ts";
import { createFakeDeviceMemories } from "./fake-device-memory.ts";

/** How a fake instance answers one execution. Every kind takes `latencyNs` first (default: the backend's). */
export type FakeAnswer =
  /** `outcomes` default to the inputs under the names of the outputs. */
  | {
      readonly kind: "complete";
      readonly latencyNs?: number;
      readonly outcomes?: readonly InstanceOutcome[];
      readonly times?: ExecutionTimes;
      readonly nonFiniteOutputs?: number;
    }
  /** Every request gets this error. */
  | { readonly kind: "fail"; readonly latencyNs?: number; readonly error: WireError }
  | {
      readonly kind: "lose";
      readonly latencyNs?: number;
      readonly culprit: boolean;
      readonly reason?: string;
    }
  /**
   * Plays a script for each request, the last one for those beyond. The execution is over after its latency, whether they
   * are or not, and gives `outcomes`, by default `decoupled` for each.
   */
  | {
      readonly kind: "decoupled";
      readonly latencyNs?: number;
      readonly scripts: readonly (readonly FakeStep[])[];
      readonly outcomes?: readonly InstanceOutcome[];
    }
  /** No answer until the instance is lost. */
  | { readonly kind: "hang" };

/** What a decoupled request gets next. Steps wait for room; a cancelled request gets its end in the place of the rest. */
export type FakeStep = { readonly afterNs?: number } & (
  | { readonly kind: "response"; readonly value: number; readonly final?: true }
  | { readonly kind: "error"; readonly error: WireError; readonly final?: true }
  | { readonly kind: "end"; readonly error?: WireError }
);

export type FakeCreation =
  | { readonly kind: "create"; readonly latencyNs?: number }
  | { readonly kind: "fail"; readonly latencyNs?: number; readonly error: InferenceError };

export interface FakeExecution {
  readonly instanceName: string;
  /** 0 for the first instance made for a placement, 1 for its first replacement, ... */
  readonly generation: number;
  readonly requests: readonly InstanceRequest[];
  readonly requestIds: readonly string[];
  /** Sum of batch sizes, counting at least 1 for each request. */
  readonly rows: number;
  readonly startNs: number;
}

export interface FakeBackendOptions {
  readonly clock: Clock;
  readonly name?: string;
  readonly keepsState?: true;
  /** Of an execution, unless its answer says otherwise. */
  readonly latencyNs?: number;
  readonly onExecute?: (execution: FakeExecution) => FakeAnswer;
  /** The worker in whose device memory the instance of this name leaves outputs; `undefined`, the default, for none. */
  readonly deviceWorkerOf?: (instanceName: string) => string | undefined;
  readonly onCreate?: (placement: InstancePlacement, generation: number) => FakeCreation;
}

/** A backend that plays a script on a clock and remembers what it was asked. */
export interface FakeBackend extends Backend {
  /** `createInstance` without a model. */
  readonly create: (placement: InstancePlacement, signal: AbortSignal) => Promise<ModelInstance>;
  /** In the order they were handed over, also those that found their instance dead. */
  readonly executions: readonly FakeExecution[];
  readonly creationCount: number;
  /** Instances made and neither lost nor disposed. */
  readonly liveCount: number;
  /** Executions that began and have not ended. */
  readonly runningCount: number;
  readonly deviceMemories: Pick<FakeDeviceMemories, "liveCount" | "faults">;
  /** Kills the instances of a worker of `deviceWorkerOf`, and what lies in its memory. */
  loseWorker(key: string, loss?: { readonly culprit?: boolean }): void;
  /** Kills the instance of this name; what it executes is lost with it. */
  lose(instanceName: string, loss?: { readonly reason?: string; readonly culprit?: boolean }): void;
}

export function createFakeBackend(options: FakeBackendOptions): FakeBackend {
  const { clock } = options;
  const executions: FakeExecution[] = [];
  const generations = new Map<string, number>();
  const live = new Map<string, FakeInstance>();
  const memories = createFakeDeviceMemories();
  let creationCount = 0;

  const create = async (placement: InstancePlacement, signal: AbortSignal): Promise<ModelInstance> => {
    const { instanceName } = placement;
    const generation = generations.get(instanceName) ?? 0;
    generations.set(instanceName, generation + 1);
    creationCount += 1;
    const creation = options.onCreate?.(placement, generation) ?? { kind: "create" };
    await sleep(clock, creation.latencyNs ?? 0, signal);
    if (creation.kind === "fail") throw creation.error;
    const workerKey = options.deviceWorkerOf?.(instanceName);
    const deviceMemory = workerKey === undefined ? undefined : memories.of(workerKey);
    const identity = { instanceName, generation, workerKey, deviceMemory };
    const instance = new FakeInstance({ ...options, ...identity, executions, memories });
    live.set(instanceName, instance);
    void instance.gone.then(() => {
      if (live.get(instanceName) === instance) live.delete(instanceName);
    });
    return instance;
  };

  return {
    name: options.name ?? "fake",
    ...(options.keepsState !== undefined && { keepsState: options.keepsState }),
    prepare: (model) => Promise.resolve(model.config),
    createInstance: ({ placement }, signal) => create(placement, signal),
    create,
    executions,
    get creationCount() {
      return creationCount;
    },
    get liveCount() {
      return live.size;
    },
    get runningCount() {
      return [...live.values()].filter((instance) => instance.isRunning).length;
    },
    deviceMemories: memories,
    loseWorker(key, { culprit = true } = {}) {
      memories.lose(key);
      for (const instance of [...live.values()]) {
        if (instance.workerKey === key)
          instance.lose({ kind: "lost", reason: "killed by the test", culprit });
      }
    },
    lose(instanceName, { reason = "killed by the test", culprit = true } = {}) {
      live.get(instanceName)?.lose({ kind: "lost", reason, culprit });
    },
  };
}

interface FakeInstanceOptions extends FakeBackendOptions {
  readonly instanceName: string;
  readonly generation: number;
  readonly workerKey: string | undefined;
  readonly deviceMemory: FakeDeviceMemory | undefined;
  readonly executions: FakeExecution[];
  readonly memories: FakeDeviceMemories;
}

type Loss = Extract<ExecutionResult, { readonly kind: "lost" }>;

class FakeInstance implements ModelInstance {
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

function sleep(clock: Clock, durationNs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = (): InferenceError => new InferenceError("CANCELLED", "the fake backend was aborted");
    if (signal?.aborted === true) {
      reject(cancelled());
      return;
    }
    if (durationNs === 0) {
      resolve();
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(cancelled());
    };
    const cancel = clock.after(durationNs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort);
  });
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
