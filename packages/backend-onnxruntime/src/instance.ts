import type { ExecutionTimes, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { ModelConfig, OnnxModel } from "@naiad/model-config";
import type { DeviceReport, LogLevel } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InferenceSession } from "onnxruntime-web";
import { gatherFeeds, scatterResults } from "./batch.ts";
import { createSession } from "./create-session.ts";
import type { EngineBuild, Ort } from "./engine.ts";
import { engineFailure, mayBeOneRequests, runError } from "./engine-error.ts";
import { engineThreads } from "./environment.ts";
import type { ExecutionTarget } from "./execution-target.ts";
import type { NonFiniteWatch } from "./non-finite.ts";
import { createNonFiniteWatch } from "./non-finite.ts";
import { optionalInputs } from "./optional-inputs.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { prepareRequest } from "./prepared-request.ts";
import { selfCheck } from "./self-check.ts";
import type { SessionIo } from "./session-io.ts";
import { sessionIo } from "./session-io.ts";
import type { ExternalFile } from "./session-options.ts";

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

interface SessionInstanceOptions {
  readonly ort: Ort;
  readonly build: EngineBuild;
  readonly session: InferenceSession;
  readonly io: SessionIo;
  readonly target: ExecutionTarget;
  readonly hooks: InstanceHooks;
  readonly byteSize: number;
}

/** Shapes remembered as compiled; beyond that a model counts as one that meets new shapes all the time. */
const MAX_KNOWN_SHAPES = 256;

class SessionInstance implements OnnxInstance {
  readonly device: DeviceReport;
  readonly #options: SessionInstanceOptions;
  readonly #knownShapes = new Set<string>();
  readonly #nonFinite: NonFiniteWatch = createNonFiniteWatch();
  #nonFiniteOutputs = 0;

  constructor(options: SessionInstanceOptions) {
    this.#options = options;
    this.device = deviceReport(options);
  }

  async execute(requests: readonly InstanceRequest[]): Promise<OnnxExecution> {
    const { io } = this.#options;
    const outcomes: InstanceOutcome[] = [];
    const times = new Stopwatch();
    const nonFiniteBefore = this.#nonFiniteOutputs;
    const batches = new Map<string, PreparedRequest[]>();
    for (const [index, request] of requests.entries()) {
      try {
        const prepared = prepareRequest(io, index, request);
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
    const nonFiniteOutputs = this.#nonFiniteOutputs - nonFiniteBefore;
    return { outcomes, times: times.result(), nonFiniteOutputs };
  }

  async release(): Promise<number> {
    await this.#options.session.release();
    return this.#options.byteSize;
  }

  /** A batch that fails is run again request by request where the fault may lie in one of them. */
  async #runBatch(batch: readonly PreparedRequest[], times: Stopwatch): Promise<readonly InstanceOutcome[]> {
    try {
      return await this.#run(batch, times);
    } catch (thrown) {
      times.lap("computeInferNs");
      if (thrown instanceof InferenceError) return batch.map(() => failed(thrown));
      const failure = engineFailure(thrown);
      if (batch.length === 1 || !mayBeOneRequests(failure)) return batch.map(() => failed(runError(failure)));
      const outcomes: InstanceOutcome[] = [];
      for (const prepared of batch) outcomes.push(...(await this.#runBatch([prepared], times)));
      return outcomes;
    }
  }

  async #run(batch: readonly PreparedRequest[], times: Stopwatch): Promise<readonly InstanceOutcome[]> {
    const { ort, session, io, hooks } = this.#options;
    const feeds = gatherFeeds(ort, io, batch);
    const wanted = new Set(batch.flatMap(({ request }) => request.outputs));
    const fetches = io.outputs.map(({ name }) => name).filter((name) => wanted.has(name));
    hooks.onRun(this.#runKind(feeds));
    times.lap("computeInputNs");
    const results = await session.run(feeds, fetches, { logSeverityLevel: 4 });
    this.#checkGpu();
    times.lap("computeInferNs");
    const outputs = scatterResults(io, batch, results);
    this.#countNonFinite(results);
    times.lap("computeOutputNs");
    return outputs.map((tensors) => ({ kind: "response", outputs: tensors, parameters: {} }));
  }

  #countNonFinite(results: InferenceSession.ReturnType): void {
    const names = this.#nonFinite.look(results);
    const [first] = names;
    if (first !== undefined && this.#nonFiniteOutputs === 0) {
      this.#options.hooks.log("warning", `output '${first}' holds NaN or infinity; this is said once`);
    }
    this.#nonFiniteOutputs += names.length;
  }

  #runKind(feeds: InferenceSession.FeedsType): "first-run" | "run" {
    const known = this.#knownShapes;
    const key =
      this.#options.target.kind === "wasm"
        ? ""
        : Object.values(feeds)
            .map(({ dims }) => dims.join())
            .join(";");
    if (known.has(key)) return "run";
    if (known.size < MAX_KNOWN_SHAPES) known.add(key);
    return "first-run";
  }

  #checkGpu(): void {
    const { target } = this.#options;
    if (target.kind !== "webgpu") return;
    const [error] = target.gpu.takeErrors();
    if (error !== undefined) throw new InferenceError("INTERNAL", `the GPU reports an error: ${error}`);
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

function failed(error: InferenceError): InstanceOutcome {
  return { kind: "error", error: error.toWire() };
}

/** Sums up where the time of an execution goes. */
class Stopwatch {
  readonly #spent = { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
  #last = performance.now();

  /** Counts the time since the last lap as spent on `phase`. */
  lap(phase: keyof ExecutionTimes): void {
    const now = performance.now();
    this.#spent[phase] += Math.round((now - this.#last) * 1e6);
    this.#last = now;
  }

  result(): ExecutionTimes {
    return { ...this.#spent };
  }
}
