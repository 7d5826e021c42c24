import type { Backend, Clock, InstancePlacement, ModelInstance } from "@naiad/core";
import type { InferenceError } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution } from "./fake-answer.ts";
import type { FakeDeviceMemories } from "./fake-device-memory.ts";
import { createFakeDeviceMemories } from "./fake-device-memory.ts";
import { FakeInstance } from "./fake-instance.ts";
import { sleep } from "./sleep.ts";

export type FakeCreation =
  | { readonly kind: "create"; readonly latencyNs?: number }
  | { readonly kind: "fail"; readonly latencyNs?: number; readonly error: InferenceError };

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
