import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InferenceSession } from "onnxruntime-web";
import { gatherFeeds, scatterResults } from "./batch.ts";
import { deviceInputs } from "./device-inputs.ts";
import type { DeviceTensors } from "./device-tensors.ts";
import type { Ort } from "./engine.ts";
import { engineFailure } from "./engine-error.ts";
import type { ExecutionTarget } from "./execution-target.ts";
import type { InstanceHooks } from "./instance.ts";
import type { KeptOutput } from "./kept-outputs.ts";
import { outputBuffers, selectKeptOutputs, withoutKept } from "./kept-outputs.ts";
import type { NonFiniteWatch } from "./non-finite.ts";
import { createNonFiniteWatch } from "./non-finite.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { SessionIo } from "./session-io.ts";
import type { Stopwatch } from "./stopwatch.ts";

export interface SessionRunnerOptions {
  readonly ort: Ort;
  readonly session: InferenceSession;
  readonly io: SessionIo;
  readonly target: ExecutionTarget;
  readonly hooks: InstanceHooks;
}

/**
 * The GPU reports an error, which may be that of an earlier run, whose outputs stayed there: whoever reads those hears of it,
 * and this run is to be tried again.
 */
export class UnclearGpuError extends Error {
  override readonly name = "UnclearGpuError";
}

/** Shapes remembered as compiled; beyond that a model counts as one that meets new shapes all the time. */
const MAX_KNOWN_SHAPES = 256;

/** Runs batches in a session and counts what is worth telling of it. */
export class SessionRunner {
  readonly #options: SessionRunnerOptions;
  readonly #knownShapes = new Set<string>();
  readonly #nonFinite: NonFiniteWatch = createNonFiniteWatch();
  /** Outputs that the engine could not write where it was told to. */
  readonly #unkept = new Set<string>();
  #nonFiniteOutputs = 0;
  #readbacks = 0;

  constructor(options: SessionRunnerOptions) {
    this.#options = options;
  }

  /** Outputs in which NaN or an infinity was seen so far. */
  get nonFiniteOutputs(): number {
    return this.#nonFiniteOutputs;
  }

  /** Tensors read from the GPU's memory so far. */
  get readbacks(): number {
    return this.#readbacks;
  }

  /**
   * One outcome for each request. Rejects with what the engine throws, an InferenceError, or an UnclearGpuError. Where the
   * engine does not write outputs to where they are to stay, as when their shape is not the one in the configuration, it is
   * asked for bytes.
   */
  async run(batch: readonly PreparedRequest[], times: Stopwatch): Promise<readonly InstanceOutcome[]> {
    const { io, hooks } = this.#options;
    const kept =
      deviceTensorsOf(this.#options.target) === undefined
        ? []
        : selectKeptOutputs(io, batch).filter(({ name }) => !this.#unkept.has(name));
    if (kept.length === 0) return this.#run(batch, kept, times);
    try {
      return await this.#run(batch, kept, times);
    } catch (thrown) {
      if (thrown instanceof UnclearGpuError) throw thrown;
      const outcomes = await this.#run(batch, [], times);
      for (const { name } of kept) this.#unkept.add(name);
      const names = kept.map(({ name }) => `'${name}'`).join(", ");
      const { message } = engineFailure(thrown);
      hooks.log("warning", `${names} cannot stay on the GPU and will be read from there: ${message}`);
      return outcomes;
    }
  }

  async #run(
    given: readonly PreparedRequest[],
    kept: readonly KeptOutput[],
    times: Stopwatch,
  ): Promise<readonly InstanceOutcome[]> {
    const { ort, session, io, hooks, target } = this.#options;
    const tensors = deviceTensorsOf(target);
    const { batch, feeds, readbacks, release } = await deviceInputs(ort, io, given, tensors);
    this.#readbacks += readbacks;
    const buffers = outputBuffers(ort, kept, target);
    try {
      const gathered = gatherFeeds(ort, io, batch, feeds);
      const wanted = new Set(batch.flatMap(({ request }) => request.outputs));
      const names = io.outputs.map(({ name }) => name).filter((name) => wanted.has(name));
      hooks.onRun(this.#runKind(gathered));
      times.lap("computeInputNs");
      const results = await session.run(gathered, buffers.fetches(names), { logSeverityLevel: 4 });
      this.#checkGpu();
      times.lap("computeInferNs");
      const { results: read, batch: rest } = withoutKept(kept, results, batch);
      const outputs = scatterResults(io, rest, read);
      this.#countNonFinite(read);
      const onDevice = buffers.give(batch);
      const readCount = Object.keys(read).length;
      if (target.kind === "webgpu") this.#readbacks += readCount;
      if (readCount > 0) tensors?.settle();
      times.lap("computeOutputNs");
      return batch.map(({ request }, index) =>
        response(request, [...(outputs[index] ?? []), ...(onDevice[index] ?? [])]),
      );
    } catch (thrown) {
      buffers.discard();
      throw thrown;
    } finally {
      release();
    }
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
    if (error === undefined) return;
    const text = `the GPU reports an error: ${error}`;
    const isOwn = target.tensors?.isSettled ?? true;
    target.tensors?.spoil();
    throw isOwn ? new InferenceError("INTERNAL", text) : new UnclearGpuError(text);
  }
}

/** In the order in which they were asked for. */
function response({ outputs: names }: InstanceRequest, given: readonly Tensor[]): InstanceOutcome {
  const outputs = names.flatMap((name) => given.find((output) => output.name === name) ?? []);
  return { kind: "response", outputs, parameters: {} };
}

export function deviceTensorsOf(target: ExecutionTarget): DeviceTensors | undefined {
  return target.kind === "webgpu" ? target.tensors : undefined;
}
