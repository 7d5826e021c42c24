import type {
  Backend,
  Clock,
  ExecutionResult,
  InferenceServer,
  InstanceOutcome,
  ModelInstance,
} from "@naiad/core";
import { createInferenceServer, createMemoryFileStore } from "@naiad/core";
import { createCollectingLogger } from "./collecting-logger.ts";
import { createMemoryRepository } from "./memory-repository.ts";
import { quickDigest } from "./quick-digest.ts";
import { CAPABILITIES, SERVER_OPTIONS } from "./server-bench.ts";

/** The machine's clock, with timers too coarse for queue delays, which benchmarks do not use. */
export const MACHINE_CLOCK: Clock = {
  nowNs: () => Math.round(performance.now() * 1e6),
  epochMs: () => Date.now(),
  resolutionNs: 1,
  after: (delayNs, wake) => {
    const timer = setTimeout(wake, delayNs / 1e6);
    return () => {
      clearTimeout(timer);
    };
  },
};

const OUTCOME: InstanceOutcome = {
  kind: "response",
  outputs: [{ kind: "bytes", name: "y", datatype: "INT32", shape: [1, 1], bytes: new Uint8Array(4) }],
  parameters: {},
};
const TIMES = { computeInputNs: 1, computeInferNs: 1, computeOutputNs: 1 };

/** Answers at once with a constant, by default the one INT32 of `noOpConfig`. */
export interface NoOpBackend extends Backend {
  readonly create: () => Promise<ModelInstance>;
  /** So many executions may end from now on; those after them wait. Infinity at first. */
  allow(executions: number): void;
}

export function createNoOpBackend(outcome: InstanceOutcome = OUTCOME): NoOpBackend {
  let allowed = Infinity;
  let wake: () => void = () => undefined;
  let changed: Promise<void> = Promise.resolve();
  const create = (): Promise<ModelInstance> =>
    Promise.resolve({
      device: { executionProvider: "other", build: "no-op", threads: 1 },
      lost: new Promise<string>(() => undefined),
      dispose: () => Promise.resolve(),
      execute: async (requests): Promise<ExecutionResult> => {
        while (allowed === 0) await changed;
        allowed -= 1;
        return { kind: "completed", outcomes: requests.map(() => outcome), times: TIMES };
      },
    });
  return {
    name: "fake",
    prepare: (model) => Promise.resolve(model.config),
    createInstance: create,
    create,
    allow(executions) {
      allowed = executions;
      wake();
      changed = new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}

export const MAX_BATCH_SIZE = 64;

/** The fields of `config.pbtxt` of a model that reads `x` and answers `y`, of so many elements each. */
export function noOpConfig(scheduling: string, elements: number = 1): string {
  return `
    backend: "fake" max_batch_size: ${MAX_BATCH_SIZE}
    input { name: "x" data_type: TYPE_INT32 dims: [${elements}] }
    output { name: "y" data_type: TYPE_INT32 dims: [${elements}] }
    ${scheduling}`;
}

/** A whole server, without anything above or below it, that serves the model `m` and takes on any number of requests. */
export async function startNoOpServer(backend: Backend, config: string): Promise<InferenceServer> {
  const server = createInferenceServer({
    options: { ...SERVER_OPTIONS, loadModels: ["m"], maxInflightBytes: Number.MAX_SAFE_INTEGER },
    sources: [createMemoryRepository({ m: { "config.pbtxt": config, "1/m": "" } })],
    store: createMemoryFileStore(),
    digest: quickDigest,
    backends: [backend],
    capabilities: CAPABILITIES,
    clock: MACHINE_CLOCK,
    logger: createCollectingLogger(),
    version: "bench",
  });
  await server.start(new AbortController().signal);
  return server;
}
