import type { InputSignature, ModelSignature } from "@naiad/model-config";
import type { BytesTensor, InferenceRequest, Tensor } from "@naiad/protocol";
import {
  InferenceError,
  elementByteSize,
  exactElementCount,
  requestIdPrefix,
  tensorByteSize,
} from "@naiad/protocol";
import type { ValidRequest } from "../scheduling/scheduler.ts";

import { checkStringElements } from "./string-elements.ts";
import { reshapeTensor } from "./reshape.ts";

export interface RequestTarget {
  readonly name: string;
  readonly signature: ModelSignature;
}

/**
 * Holds a request against its model, in Triton's order of checks and with its texts; throws INVALID_ARG at the first
 * fault. The tensors of the result lie on the same bytes as those of the request.
 */
export function validateRequest(request: InferenceRequest, model: RequestTarget): ValidRequest {
  const inputs = inputsByName(request);
  const outputs = requestedOutputs(request, model);
  checkInputCount(request, model, inputs);
  const batchSize = batchSizeOf(request, model);
  checkRequiredInputs(request, model, inputs);

  const validInputs: Tensor[] = [];
  for (const expected of model.signature.inputs) {
    const input = inputs.get(expected.name);
    if (input === undefined) continue;
    checkDatatype(request, model, input, expected);
    checkShape(request, model, input, expected);
    checkContent(request, model, input);
    validInputs.push(reshaped(input, expected, model));
  }

  return {
    id: request.id,
    inputs: validInputs,
    outputs,
    batchSize,
    parameters: request.parameters,
    ...(request.sequence === undefined ? {} : { sequence: request.sequence }),
    priority: request.priority ?? 0,
    timeoutUs: request.timeoutUs ?? 0,
  };
}

function refuse(request: InferenceRequest, message: string): InferenceError {
  return new InferenceError("INVALID_ARG", requestIdPrefix(request.id) + message);
}

function inputsByName(request: InferenceRequest): ReadonlyMap<string, Tensor> {
  const inputs = new Map<string, Tensor>();
  for (const input of request.inputs) {
    if (inputs.has(input.name)) throw refuse(request, `input '${input.name}' already exists in request`);
    inputs.set(input.name, input);
  }
  return inputs;
}

function requestedOutputs(request: InferenceRequest, model: RequestTarget): readonly string[] {
  const known = model.signature.outputs.map((output) => output.name);
  if (request.outputs.length === 0) return known;

  const wanted = new Set<string>();
  for (const { name } of request.outputs) {
    if (wanted.has(name)) throw refuse(request, `output '${name}' already exists in request`);
    wanted.add(name);
  }
  for (const name of wanted) {
    if (known.includes(name)) continue;
    throw new InferenceError(
      "INVALID_ARG",
      `unexpected inference output '${name}' for model '${model.name}'`,
    );
  }
  return [...wanted];
}

function checkInputCount(
  request: InferenceRequest,
  model: RequestTarget,
  inputs: ReadonlyMap<string, Tensor>,
): void {
  const all = model.signature.inputs;
  const required = all.filter((input) => !input.optional);
  if (inputs.size <= all.length && inputs.size >= required.length) return;
  throw wrongInputs(request, model, inputs);
}

/** Triton counts only, and leaves a request that has optional inputs in the place of required ones to the backend. */
function checkRequiredInputs(
  request: InferenceRequest,
  model: RequestTarget,
  inputs: ReadonlyMap<string, Tensor>,
): void {
  if (model.signature.inputs.every(({ name, optional }) => optional || inputs.has(name))) return;
  throw wrongInputs(request, model, inputs);
}

function wrongInputs(
  request: InferenceRequest,
  model: RequestTarget,
  inputs: ReadonlyMap<string, Tensor>,
): InferenceError {
  const all = model.signature.inputs;
  const required = all.filter((input) => !input.optional);
  const expected =
    required.length === all.length
      ? `expected ${all.length} inputs`
      : `expected number of inputs between ${required.length} and ${all.length}`;
  const missing = required.filter((input) => !inputs.has(input.name)).map((input) => input.name);
  return refuse(
    request,
    `${expected} but got ${inputs.size} inputs for model '${model.name}'. ` +
      `Got input(s) ${nameList([...inputs.keys()])}, but missing required input(s) ${nameList(missing)}. ` +
      "Please provide all required input(s).",
  );
}

function nameList(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(",")}]`;
}

/** Also refuses inputs that the model does not have, at the place in the order where Triton does. */
function batchSizeOf(request: InferenceRequest, model: RequestTarget): number {
  const { maxBatchSize, inputs } = model.signature;
  let batchSize: number | undefined;
  for (const { name, shape } of request.inputs) {
    if (!inputs.some((input) => input.name === name)) {
      throw new InferenceError(
        "INVALID_ARG",
        `unexpected inference input '${name}' for model '${model.name}'`,
      );
    }
    if (maxBatchSize === 0) continue;
    const rows = shape[0];
    if (rows === undefined) {
      throw refuse(
        request,
        `input '${name}' has no shape but model requires batch dimension for '${model.name}'`,
      );
    }
    batchSize ??= rows;
    if (rows !== batchSize) {
      throw refuse(request, `input '${name}' batch size does not match other inputs for '${model.name}'`);
    }
  }
  if (batchSize === undefined) return 0;
  if (batchSize > maxBatchSize) {
    throw refuse(request, `inference request batch-size must be <= ${maxBatchSize} for '${model.name}'`);
  }
  return batchSize;
}

function checkDatatype(
  request: InferenceRequest,
  model: RequestTarget,
  input: Tensor,
  expected: InputSignature,
): void {
  if (input.datatype === expected.datatype) return;
  throw refuse(
    request,
    `inference input '${input.name}' data-type is '${input.datatype}', ` +
      `but model '${model.name}' expects '${expected.datatype}'`,
  );
}

const BATCH_DIMENSION_NOTE =
  "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each " +
  "input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting " +
  "max_batch_size to zero. See the model configuration docs for more info on max_batch_size.";

function checkShape(
  request: InferenceRequest,
  model: RequestTarget,
  input: Tensor,
  expected: InputSignature,
): void {
  const batches = model.signature.maxBatchSize > 0;
  const { shape } = input;
  const exactShape = input.kind === "bytes" ? input.exactShape : undefined;
  if (exactShape === undefined && !shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw refuse(
      request,
      `All input dimensions should be specified for input '${input.name}' for model '${model.name}', ` +
        `got ${shapeText(shape)}`,
    );
  }
  const full = batches ? [-1, ...expected.dims] : expected.dims;
  if (full.length !== shape.length || !full.every((dim, axis) => dim === -1 || dim === shape[axis])) {
    throw refuse(
      request,
      `unexpected shape for input '${input.name}' for model '${model.name}'. Expected ${shapeText(full)}, ` +
        `got ${shapeText(exactShape ?? shape)}. ${batches ? BATCH_DIMENSION_NOTE : ""}`,
    );
  }
  if (exactShape?.includes(0n) === true) {
    // Without elements, and so without a contradiction, but no tensor here can have such a size.
    throw refuse(
      request,
      `shape ${shapeText(exactShape)} of input '${input.name}' for model '${model.name}' has a dimension beyond ` +
        `${Number.MAX_SAFE_INTEGER}, the largest one here`,
    );
  }
}

function shapeText(shape: readonly (number | bigint)[]): string {
  return `[${shape.join(",")}]`;
}

/** A tensor that stayed on a device was made there and cannot disagree with its shape. */
function checkContent(request: InferenceRequest, model: RequestTarget, input: Tensor): void {
  if (input.kind === "device") return;
  if (model.signature.maxBatchSize > 0 && input.shape[0] === 0) {
    // Triton counts a batch of no rows as one of one row, and so refuses it where a row has content.
    checkSize(request, model, { ...input, shape: [1, ...input.shape.slice(1)] });
  }
  checkSize(request, model, input);
}

function checkSize(request: InferenceRequest, model: RequestTarget, input: BytesTensor): void {
  const expectedBytes = tensorByteSize(input.datatype, input.shape);
  if (expectedBytes === undefined) {
    checkStringElements(input, { modelName: model.name, requestId: request.id });
  } else if (input.bytes.byteLength !== expectedBytes) {
    const exact = exactElementCount(input) * BigInt(elementByteSize(input.datatype));
    throw refuse(
      request,
      `input byte size mismatch for input '${input.name}' for model '${model.name}'. ` +
        `Expected ${exact}, got ${input.bytes.byteLength}`,
    );
  }
}

/** The tensor as the model sees it. */
function reshaped(input: Tensor, expected: InputSignature, model: RequestTarget): Tensor {
  const { dims, reshape } = expected;
  if (reshape === undefined) return input;
  return reshapeTensor(input, { from: dims, to: reshape, batches: model.signature.maxBatchSize > 0 });
}
