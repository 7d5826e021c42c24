import type {
  ExecuteContext,
  ExecutionResult,
  InstanceOutcome,
  InstanceRequest,
  InstanceResponse,
} from "@naiad/core";
import type { FaultHook } from "@naiad/link";
import { createCollectingLogger, createFakeClock, memoryLocks, pairedEndpoints } from "@naiad/testing";
import type { EngineInstance } from "../src/instance/serve-instances.ts";
import { serveInstances } from "../src/instance/serve-instances.ts";
import { deferred } from "../src/host/deferred.ts";
import { createInstanceWorkers } from "../src/host/instance-workers.ts";
import type { RemoteInstance } from "../src/host/remote-instance.ts";
import { NO_ASSETS } from "./memory-platform.ts";
import { NO_SERVICES } from "./no-services.ts";

const CPU = { engine: "onnxruntime", workerKey: "m_0", device: { kind: "cpu", threads: 1 } } as const;
const LIMITS = { createMs: 1000, firstRunMs: 1000, runMs: 1000 };
export const TIMES = { computeInputNs: 1, computeInferNs: 2, computeOutputNs: 3 };
const live = new AbortController().signal;

/** What the model in the worker does. */
type Play = (
  context: ExecuteContext,
  requests: readonly InstanceRequest[],
) => Promise<readonly InstanceOutcome[]>;

/** A pool with real worker code at the other end of a pair of ports, and a model that plays a script. */
export async function startModel(play: Play, fault?: FaultHook) {
  const clock = createFakeClock();
  let kill = (): void => undefined;
  const crash = deferred<string>();
  const model: EngineInstance = {
    device: { executionProvider: "other", build: "scripted", threads: 1 },
    execute: async (requests, context) => ({
      outcomes: await play(context, requests),
      times: TIMES,
      nonFiniteOutputs: 0,
    }),
    release: () => Promise.resolve(0),
  };
  const pool = createInstanceWorkers({
    spawner: {
      spawn: () => {
        const { left, right } = pairedEndpoints();
        kill = () => {
          right.kill();
        };
        const platform = {
          locks: memoryLocks(),
          gpu: undefined,
          hasWebNn: false,
          openStore: () => undefined,
        };
        serveInstances(
          right,
          () => ({
            build: "scripted",
            start: () => Promise.resolve(),
            create: () => Promise.resolve(model),
          }),
          { platform, ...(fault && { fault }) },
        );
        return { endpoint: left, failed: crash.promise, terminate: kill };
      },
    },
    clock,
    logger: createCollectingLogger(),
    assets: NO_ASSETS,
    hasJspi: false,
    wasmModule: () => Promise.resolve(undefined),
    limits: LIMITS,
    services: NO_SERVICES,
    newId: () => "w",
    whenDead: () => new Promise(() => undefined),
    ...(fault && { fault }),
  });
  const order = {
    instanceId: "m_0",
    limits: LIMITS,
    message: () =>
      Promise.resolve({
        input: {
          instanceId: "m_0",
          modelName: "m",
          version: 1,
          instanceName: "m_0",
          backend: "scripted",
          device: CPU.device,
          config: new Uint8Array(),
          files: [],
          location: { kind: "memory" } as const,
        },
        transfer: [],
      }),
  };
  const creating = pool.create(CPU, order, live);
  await clock.settle();
  const instance = await creating;
  return {
    clock,
    instance,
    /** The worker is gone without a word, and the platform says so. */
    crash: async () => {
      kill();
      crash.resolve("it crashed");
      await clock.settle();
    },
    run: (options?: { readonly count?: number; readonly room?: () => Promise<void> }) =>
      begin(instance, options),
  };
}

/** An execution and everything that its listener heard. */
interface Running {
  readonly result: Promise<ExecutionResult>;
  /** `index:value`, `index:!code` for an error, `index:end`, `index:end CODE`. */
  readonly heard: readonly string[];
  cancel(index: number): void;
}

function begin(
  instance: RemoteInstance,
  {
    count = 1,
    room = () => Promise.resolve(),
  }: { readonly count?: number; readonly room?: () => Promise<void> } = {},
): Running {
  const heard: string[] = [];
  const controllers = Array.from({ length: count }, () => new AbortController());
  const requests = controllers.map((_, index): InstanceRequest => ({
    id: String(index),
    inputs: [],
    outputs: ["y"],
    batchSize: 1,
    parameters: {},
  }));
  const result = instance.execute(requests, [], {
    signals: controllers.map(({ signal }) => signal),
    responses: {
      response: (index, response, flags) => {
        heard.push(`${String(index)}:${textOf(response)}${flags?.final === true ? " final" : ""}`);
        return room();
      },
      end: (index, error) => {
        heard.push(`${String(index)}:end${error === undefined ? "" : ` ${error.code}`}`);
      },
    },
  });
  return {
    result,
    heard,
    cancel: (index) => {
      controllers[index]?.abort();
    },
  };
}

function textOf(response: InstanceResponse): string {
  if (response.kind === "error") return `!${response.error.code}`;
  const [output] = response.outputs;
  return output?.kind === "bytes" ? String(output.bytes[0]) : "?";
}

export function value(number: number): InstanceResponse {
  const bytes = Uint8Array.of(number);
  return {
    kind: "response",
    outputs: [{ kind: "bytes", name: "y", datatype: "UINT8", shape: [1], bytes }],
    parameters: {},
  };
}

export const DECOUPLED: InstanceOutcome = { kind: "decoupled" };
