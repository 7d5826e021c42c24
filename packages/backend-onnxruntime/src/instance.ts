import type { ExecutionTimes, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { ModelConfig, OnnxModel } from "@naiad/model-config";
import type { DeviceReport, LogLevel } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { createSession } from "./create-session.ts";
import type { EngineBuild, Ort } from "./engine.ts";
import { engineFailure, mayBeOneRequests, runError } from "./engine-error.ts";
import { engineThreads } from "./environment.ts";
import type { ExecutionTarget } from "./execution-target.ts";
import { optionalInputs } from "./optional-inputs.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { prepareRequest } from "./prepared-request.ts";
import { selfCheck } from "./self-check.ts";
import { sessionIo } from "./session-io.ts";
import type { ExternalFile } from "./session-options.ts";
import type { SessionRunnerOptions } from "./session-runner.ts";
import { deviceTensorsOf, SessionRunner, UnclearGpuError } from "./session-runner.ts";
import { Stopwatch } from "./stopwatch.ts";

export interface OnnxInstanceSpec {
  readonly config: ModelConfig;
  /** Content of the ONNX file. Not kept. */
  readonly model: Uint8Array;
  /** What that file says about itself. */
  readonly onnx: OnnxModel;
  readonly externalFiles: readonly ExternalFile[];
  readonly target: ExecutionTarget;
}

export interface InstanceHooks {
  /** Before the engine runs: a shape that a GPU has not seen yet compiles shaders and counts as a first run. */
  onRun(kind: "first-run" | "run"): void;
  log(level: LogLevel, message: string): void;
}

/**
 * A model in this worker's engine. The engine does one thing at a time: whoever owns the engine never overlaps `execute`
 * and `release`, of this instance or of others.
 */
export interface OnnxInstance {
  readonly device: DeviceReport;
  /** One outcome per request, in their order. Reads the requests' buffers; the outputs' buffers belong to the caller. */
  execute(requests: readonly InstanceRequest[]): Promise<OnnxExecution>;
  /** Bytes that the model's files had taken; WASM memory is reused inside the worker but never given back. */
  release(): Promise<number>;
}

export interface OnnxExecution {
  readonly outcomes: readonly InstanceOutcome[];
  readonly times: ExecutionTimes;
  /** Outputs in which NaN or an infinity was seen, those of each run of the engine counted; large ones are sampled. */
  readonly nonFiniteOutputs: number;
  /** Tensors that were read from the GPU's memory. */
  readonly readbacks: number;
}

/**
 * Loads a model. UNSUPPORTED when this kind of device cannot run it though another may; on a GPU one run with made-up
 * inputs finds that out, since missing kernels and features show only then.
 */
export async function createOnnxInstance(
  ort: Ort,
  build: EngineBuild,
  spec: OnnxInstanceSpec,
  hooks: InstanceHooks,
): Promise<OnnxInstance> {
  const { config, target } = spec;
  const { model, defaults } = optionalInputs(spec);
  const session = await createSession(ort, { ...spec, model }, hooks);
  try {
    const io = sessionIo({ session, config, onnx: spec.onnx, defaults });
    if (target.kind !== "wasm") await selfCheck({ ort, session, io, target, hooks });
    const byteSize = byteSizeOf(spec);
    return new SessionInstance({ ort, session, io, target, hooks, byteSize, build });
  } catch (thrown) {
    await session.release();
    throw thrown;
  }
}

function byteSizeOf({ model, externalFiles }: OnnxInstanceSpec): number {
  return externalFiles.reduce((sum, { bytes }) => sum + bytes.byteLength, model.byteLength);
}

interface SessionInstanceOptions extends SessionRunnerOptions {
  readonly build: EngineBuild;
  readonly byteSize: number;
}

class SessionInstance implements OnnxInstance {
  readonly device: DeviceReport;
  readonly #options: SessionInstanceOptions;
  readonly #runner: SessionRunner;

  constructor(options: SessionInstanceOptions) {
    this.#options = options;
    this.#runner = new SessionRunner(options);
    this.device = deviceReport(options);
  }

  async execute(requests: readonly InstanceRequest[]): Promise<OnnxExecution> {
    const { io, target } = this.#options;
    const outcomes: InstanceOutcome[] = [];
    const times = new Stopwatch();
    const before = counts(this.#runner);
    const batches = new Map<string, PreparedRequest[]>();
    for (const [index, request] of requests.entries()) {
      try {
        const prepared = prepareRequest(io, index, request, deviceTensorsOf(target));
        const key = io.isBatching ? prepared.batchKey : String(index);
        batches.set(key, [...(batches.get(key) ?? []), prepared]);
      } catch (thrown) {
        outcomes[index] = failed(InferenceError.from(thrown));
      }
    }
    times.lap("computeInputNs");
    for (const batch of batches.values()) {
      const results = await this.#runBatch(batch, times);
      for (const [position, { index }] of batch.entries()) {
        outcomes[index] = results[position] ?? failed(new InferenceError("INTERNAL", "no outcome"));
      }
    }
    const after = counts(this.#runner);
    return {
      outcomes,
      times: times.result(),
      nonFiniteOutputs: after.nonFiniteOutputs - before.nonFiniteOutputs,
      readbacks: after.readbacks - before.readbacks,
    };
  }

  async release(): Promise<number> {
    await this.#options.session.release();
    return this.#options.byteSize;
  }

  /** Each by itself, and without those whose inputs cannot be relied on any more. */
  async #runAgain(batch: readonly PreparedRequest[], times: Stopwatch): Promise<readonly InstanceOutcome[]> {
    const { io, target } = this.#options;
    const outcomes: InstanceOutcome[] = [];
    for (const { index, request } of batch) {
      try {
        const prepared = prepareRequest(io, index, request, deviceTensorsOf(target));
        outcomes.push(...(await this.#runBatch([prepared], times)));
      } catch (thrown) {
        outcomes.push(failed(InferenceError.from(thrown)));
      }
    }
    return outcomes;
  }

  /** A batch that fails is run again request by request where the fault may lie in one of them. */
  async #runBatch(batch: readonly PreparedRequest[], times: Stopwatch): Promise<readonly InstanceOutcome[]> {
    try {
      return await this.#runner.run(batch, times);
    } catch (thrown) {
      times.lap("computeInferNs");
      if (thrown instanceof UnclearGpuError) return this.#runAgain(batch, times);
      if (thrown instanceof InferenceError) return batch.map(() => failed(thrown));
      const failure = engineFailure(thrown);
      if (batch.length === 1 || !mayBeOneRequests(failure)) return batch.map(() => failed(runError(failure)));
      const outcomes: InstanceOutcome[] = [];
      for (const prepared of batch) outcomes.push(...(await this.#runBatch([prepared], times)));
      return outcomes;
    }
  }
}

function deviceReport({ ort, target, build }: SessionInstanceOptions): DeviceReport {
  switch (target.kind) {
    case "wasm":
      return { executionProvider: "wasm", build, threads: engineThreads(ort) };
    case "webgpu":
      return { executionProvider: "webgpu", build, adapter: target.gpu.adapter, threads: 1 };
    case "webnn":
      return { executionProvider: "webnn", build, threads: 1 };
  }
}

function counts({ nonFiniteOutputs, readbacks }: SessionRunner): {
  readonly nonFiniteOutputs: number;
  readonly readbacks: number;
} {
  return { nonFiniteOutputs, readbacks };
}

function failed(error: InferenceError): InstanceOutcome {
  return { kind: "error", error: error.toWire() };
}
