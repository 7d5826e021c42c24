import { InferenceError } from "@naiad/protocol";
import type { ExecutionTarget } from "./execution-target.ts";
import { TARGET_NAMES } from "./execution-target.ts";

/** What the engine says when something goes wrong, brought into order. */
export interface EngineFailure {
  /** `OrtErrorCode`, where the text carries one. */
  readonly ortCode: number | undefined;
  readonly message: string;
}

const OUT_OF_MEMORY = /std::bad_alloc|out of memory|failed to allocate|Cannot enlarge memory|\bAborted\(/i;
const DEVICE_LOST = /BufferManager::Download|device (is|was) lost|Device lost|mapAsync/i;
const MISSING_ON_GPU =
  /requires f16|device does not support|Could not find an implementation|Provider type for .* is not set|not implemented|storage buffers?.*exceed|exceeds? the .*limit|no available backend found|No Op registered for/i;
const CONTRADICTING_SHAPES = /merge shape info|ShapeInferenceError/i;

const INVALID_ARGUMENT = 2;
const NOT_IMPLEMENTED = 9;

/** The engine throws errors, and in some places a bare number: the address of a C++ exception. */
export function engineFailure(thrown: unknown): EngineFailure {
  if (typeof thrown === "number") {
    return { ortCode: undefined, message: `the engine failed without a message (exception ${thrown})` };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const match = /ERROR_CODE: (\d+), ERROR_MESSAGE: ([\s\S]*)$/.exec(text);
  if (match === null) return { ortCode: undefined, message: withoutBuildPaths(text) };
  return { ortCode: Number(match[1]), message: withoutBuildPaths(match[2] ?? "") };
}

/** Whether a second attempt without graph optimisation can help: the model declares shapes that it does not have. */
export function hasContradictingShapes({ message }: EngineFailure): boolean {
  return CONTRADICTING_SHAPES.test(message);
}

/** Whether the model may run on another kind of device though it does not on this one. */
export function isMissingOnGpu({ ortCode, message }: EngineFailure): boolean {
  return ortCode === NOT_IMPLEMENTED || MISSING_ON_GPU.test(message);
}

/** Whether a batch's failure may be the fault of one of its requests: then it is worth running them one by one. */
export function mayBeOneRequests(failure: EngineFailure): boolean {
  return !OUT_OF_MEMORY.test(failure.message) && !DEVICE_LOST.test(failure.message);
}

/** WebNN fails in as many ways as there are drivers under it, so none of them says that the model itself is at fault. */
export function createError(failure: EngineFailure, device: ExecutionTarget["kind"]): InferenceError {
  if (device === "webnn" || (device === "webgpu" && isMissingOnGpu(failure))) {
    return new InferenceError("UNSUPPORTED", `cannot run on ${TARGET_NAMES[device]}: ${failure.message}`);
  }
  if (OUT_OF_MEMORY.test(failure.message)) {
    return new InferenceError("UNAVAILABLE", `not enough memory to load the model: ${failure.message}`);
  }
  return new InferenceError("INTERNAL", textOf(failure));
}

export function runError(failure: EngineFailure): InferenceError {
  if (OUT_OF_MEMORY.test(failure.message) || DEVICE_LOST.test(failure.message)) {
    return new InferenceError("UNAVAILABLE", textOf(failure));
  }
  return new InferenceError(
    failure.ortCode === INVALID_ARGUMENT ? "INVALID_ARG" : "INTERNAL",
    textOf(failure),
  );
}

/** Triton's form. */
function textOf({ ortCode, message }: EngineFailure): string {
  return ortCode === undefined
    ? `onnx runtime error: ${message}`
    : `onnx runtime error ${ortCode}: ${message}`;
}

/** Drops places in the engine's source from a message: `/onnxruntime_src/.../gather.cc:137 `, `shader_helper.cc:416 `. */
function withoutBuildPaths(text: string): string {
  return text.replace(/(?:\/[\w./-]*\/)?[\w-]+\.(?:cc|cpp|h):\d+\s*/g, "").trim();
}
