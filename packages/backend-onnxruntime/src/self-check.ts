import { elementCount, InferenceError, newElements } from "@naiad/protocol";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import { batchInputFeeds } from "./batch.ts";
import { numericTensor, textTensor } from "./datatypes.ts";
import type { Ort } from "./engine.ts";
import type { EngineFailure } from "./engine-error.ts";
import { engineFailure, isMissingOnGpu } from "./engine-error.ts";
import type { ExecutionTarget } from "./execution-target.ts";
import { TARGET_NAMES } from "./execution-target.ts";
import type { InstanceHooks } from "./instance.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

interface SelfCheck {
  readonly ort: Ort;
  readonly session: InferenceSession;
  readonly io: SessionIo;
  readonly target: Exclude<ExecutionTarget, { readonly kind: "wasm" }>;
  readonly hooks: InstanceHooks;
}

/** No more than this much is made up for a model that nobody has asked for anything yet. */
const MAX_ELEMENTS = 2 ** 26;

/**
 * Runs a model once with made-up inputs. UNSUPPORTED when the device lacks something that the model needs. Other
 * failures prove nothing, because ones in the place of a shape or a size may not be what the model can work with: they
 * are logged and the model is served.
 */
export async function selfCheck({ ort, session, io, target, hooks }: SelfCheck): Promise<void> {
  const shapes = io.inputs.map((tensor) => madeUpShape(tensor));
  if (shapes.some((shape) => elementCount(shape) > MAX_ELEMENTS)) return;
  const request = io.inputs.map(({ name }, index) => ({ name, shape: shapes[index] ?? [] }));
  const feeds = batchInputFeeds(ort, io, [request]);
  for (const [index, input] of io.inputs.entries()) {
    const shape = shapes[index] ?? [];
    const isRagged = io.batch.raggedInputs.has(input.name);
    feeds[input.name] = madeUp(ort, input, isRagged ? [elementCount(shape)] : shape);
  }
  const fetches = io.outputs.map(({ name }) => name);
  hooks.onRun("first-run");
  takeErrors(target);
  const failure = await run(session, feeds, fetches);
  const [gpuError] = takeErrors(target);
  if (failure !== undefined && isMissingOnGpu(failure)) throw unsupported(failure.message, target);
  if (gpuError !== undefined && io.inputs.every(isFixed)) throw unsupported(gpuError, target);
  const problem = failure?.message ?? gpuError;
  if (problem === undefined) return;
  hooks.log(
    "warning",
    `model '${io.modelName}' could not be checked on ${TARGET_NAMES[target.kind]} with made-up inputs: ${problem}`,
  );
}

async function run(
  session: InferenceSession,
  feeds: Record<string, OrtTensor>,
  fetches: readonly string[],
): Promise<EngineFailure | undefined> {
  try {
    await session.run(feeds, fetches, { logSeverityLevel: 4 });
    return undefined;
  } catch (thrown) {
    return engineFailure(thrown);
  }
}

function takeErrors(target: SelfCheck["target"]): readonly string[] {
  return target.kind === "webgpu" ? target.gpu.takeErrors() : [];
}

function unsupported(reason: string, { kind }: SelfCheck["target"]): InferenceError {
  return new InferenceError("UNSUPPORTED", `cannot run on ${TARGET_NAMES[kind]}: ${reason}`);
}

function madeUpShape({ shape, isScalar }: SessionTensor): readonly number[] {
  return isScalar ? [] : shape.map((dim) => (dim === -1 ? 1 : dim));
}

function isFixed({ shape }: SessionTensor): boolean {
  return shape.slice(1).every((dim) => dim !== -1);
}

/** Zeros are safe indices, ones safe divisors. */
function madeUp(ort: Ort, { datatype }: SessionTensor, shape: readonly number[]): OrtTensor {
  const count = elementCount(shape);
  if (datatype === "BYTES") return textTensor(ort, shape, new Array<string>(count).fill(""));
  const elements = newElements(datatype, count);
  if (datatype === "FP16") elements.fill(0x3c00 as never);
  if (datatype === "FP32" || datatype === "FP64") elements.fill(1 as never);
  return numericTensor(ort, datatype, shape, new Uint8Array(elements.buffer));
}
