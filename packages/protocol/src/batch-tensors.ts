import { bytesElementEnd } from "./elements.ts";
import { elementByteSize } from "./datatype.ts";
import { InferenceError, invariant } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";

const NONE: ReadonlySet<string> = new Set();

/**
 * Joins the inputs of several requests along the first dimension, name by name, in the order of the first request. All
 * requests must have the same inputs with equal datatypes and equal shapes after the first dimension. An input that
 * `ragged` names may have any shape: it becomes the one-dimensional list of all its elements.
 *
 * With one request its own tensors are returned, nothing is copied; otherwise each input has a buffer of its own.
 */
export function gatherInputs(
  requests: readonly (readonly BytesTensor[])[],
  ragged: ReadonlySet<string> = NONE,
): readonly BytesTensor[] {
  const [first] = requests;
  invariant(first !== undefined, "a batch has at least one request");
  const partsOf = (inputs: readonly BytesTensor[]): readonly BytesTensor[] =>
    ragged.size === 0 ? inputs : inputs.map((input) => (ragged.has(input.name) ? flattened(input) : input));
  if (requests.length === 1) return partsOf(first);
  const flat = requests.map(partsOf);
  return partsOf(first).map((input) => concatenate(flat.map((inputs) => findPart(inputs, input))));
}

function flattened(tensor: BytesTensor): BytesTensor {
  return { ...tensor, shape: [elementCount(tensor.shape)] };
}

function findPart(inputs: readonly BytesTensor[], like: BytesTensor): BytesTensor {
  const part = inputs.find((input) => input.name === like.name);
  invariant(part !== undefined, `a request of the batch lacks the input '${like.name}'`);
  const fits =
    part.datatype === like.datatype &&
    part.shape.length === like.shape.length &&
    part.shape.every((dim, axis) => axis === 0 || dim === like.shape[axis]);
  invariant(fits, `the requests of the batch differ in datatype or shape of the input '${like.name}'`);
  return part;
}

function concatenate(parts: readonly BytesTensor[]): BytesTensor {
  const [first] = parts;
  invariant(first !== undefined, "nothing to concatenate");
  let rows = 0;
  let byteLength = 0;
  for (const part of parts) {
    rows += part.shape[0] ?? 0;
    byteLength += part.bytes.length;
  }
  const bytes = new Uint8Array(byteLength);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part.bytes, offset);
    offset += part.bytes.length;
  }
  return { ...first, shape: [rows, ...first.shape.slice(1)], bytes };
}

/** One request's share of a batch. */
export interface BatchShare {
  /** Rows along the first dimension; may be 0. */
  readonly rows: number;
  /** Names of the outputs that this request wants. */
  readonly outputs: readonly string[];
}

export interface ScatterOptions {
  /**
   * `views`: all results lie on the outputs' own buffers, which therefore nobody may transfer.
   * `copies`: each result has a buffer of its own, except that a single request gets the outputs as they are.
   */
  readonly storage: "views" | "copies";
}

/**
 * Splits a batch's outputs along the first dimension: for each share, in order, the outputs that it wants, in the order
 * in which it names them. Throws an InferenceError when an output is missing or its first dimension is not the batch's.
 */
export function scatterOutputs(
  outputs: readonly BytesTensor[],
  shares: readonly BatchShare[],
  options: ScatterOptions,
): readonly (readonly BytesTensor[])[] {
  const rows = shares.reduce((sum, share) => sum + share.rows, 0);
  const [only] = shares;
  if (only !== undefined && shares.length === 1) {
    const selected = selectOutputs(outputs, only.outputs);
    for (const output of selected) checkRows(output, rows);
    return [selected];
  }
  const cutters = new Map<string, RowCutter>();
  const cutterOf = (name: string): RowCutter => {
    const known = cutters.get(name);
    if (known !== undefined) return known;
    const output = findOutput(outputs, name);
    checkRows(output, rows);
    const cutter = rowCutter(output, shares, options);
    cutters.set(name, cutter);
    return cutter;
  };
  return shares.map((share, index) => share.outputs.map((name) => cutterOf(name)(index)));
}

/**
 * Splits an output of a whole batch into consecutive parts with these shapes, whatever its own shape is (Triton's
 * BATCH_SCATTER_WITH_INPUT_SHAPE). What is left behind the last part belongs to nobody. Throws INTERNAL when the output
 * is too short.
 */
export function scatterLikeInput(
  output: BytesTensor,
  shapes: readonly (readonly number[])[],
  { storage }: ScatterOptions,
): readonly BytesTensor[] {
  let offset = 0;
  return shapes.map((shape) => {
    const end = skipElements(output, offset, elementCount(shape));
    if (end > output.bytes.length) throw wrongSize(output);
    const view = output.bytes.subarray(offset, end);
    offset = end;
    return { ...output, shape, bytes: storage === "copies" ? view.slice() : view };
  });
}

/** The shape of an output that is split like an input: its open sizes are those that the input has at the same place. */
export function shapeLikeInput(declared: readonly number[], source: readonly number[]): readonly number[] {
  return declared.map((dim, axis) => (dim === -1 ? (source[axis] ?? 1) : dim));
}

/** The named outputs in the order of their names, nothing copied. Throws INTERNAL when one is missing. */
export function selectOutputs(
  outputs: readonly BytesTensor[],
  names: readonly string[],
): readonly BytesTensor[] {
  return names.map((name) => findOutput(outputs, name));
}

function findOutput(outputs: readonly BytesTensor[], name: string): BytesTensor {
  const output = outputs.find((candidate) => candidate.name === name);
  if (output === undefined) {
    throw new InferenceError("INTERNAL", `the model did not produce the output '${name}'`);
  }
  return output;
}

function checkRows(output: BytesTensor, rows: number): void {
  const [actual] = output.shape;
  if (actual === rows) return;
  const expected = actual !== undefined && actual > rows ? "" : "atleast ";
  throw new InferenceError(
    "UNSUPPORTED",
    `failed to split the output tensor '${output.name}' in responses: expected batch size of ${expected}${String(rows)} ` +
      `in model output, got ${actual === undefined ? "a scalar" : String(actual)}`,
  );
}

/** Gives the part of one output that belongs to the share with an index. */
type RowCutter = (shareIndex: number) => BytesTensor;

function rowCutter(output: BytesTensor, shares: readonly BatchShare[], options: ScatterOptions): RowCutter {
  const bounds = byteBounds(output, shares);
  return (index) => {
    const [start = 0, end = 0] = bounds.slice(index, index + 2);
    const shape = [shares[index]?.rows ?? 0, ...output.shape.slice(1)];
    const view = output.bytes.subarray(start, end);
    return { ...output, shape, bytes: options.storage === "copies" ? view.slice() : view };
  };
}

/** Byte offset at which each share begins, and the end of the last. */
function byteBounds(output: BytesTensor, shares: readonly BatchShare[]): readonly number[] {
  const perRow = elementCount(output.shape.slice(1));
  const bounds = [0];
  let offset = 0;
  for (const { rows } of shares) {
    offset = skipElements(output, offset, rows * perRow);
    bounds.push(offset);
  }
  if (offset !== output.bytes.length) {
    throw wrongSize(output);
  }
  return bounds;
}

function wrongSize({ name }: BytesTensor): InferenceError {
  return new InferenceError("INTERNAL", `output tensor shape does not match size of output for '${name}'`);
}

function skipElements(output: BytesTensor, offset: number, count: number): number {
  if (output.datatype !== "BYTES") return offset + count * elementByteSize(output.datatype);
  for (let index = 0; index < count; index++) offset = bytesElementEnd(output.bytes, offset, output.name);
  return offset;
}
