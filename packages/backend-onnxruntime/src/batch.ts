import type { BytesTensor } from "@naiad/protocol";
import {
  batchInputTensor,
  gatherInputs,
  InferenceError,
  invariant,
  scatterLikeInput,
  scatterOutputs,
  selectOutputs,
  shapeLikeInput,
} from "@naiad/protocol";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import { datatypeOf, isSupported, numericTensor, tensorBytes, textTensor } from "./datatypes.ts";
import type { Ort } from "./engine.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

/**
 * The engine's inputs for requests that fit together, besides those that there are already. The tensors of a single
 * request are handed on as they are.
 */
export function gatherFeeds(
  ort: Ort,
  io: SessionIo,
  batch: readonly PreparedRequest[],
  present: Readonly<Record<string, OrtTensor>> = {},
): Record<string, OrtTensor> {
  const inputs = batch.map((request) => request.inputs);
  const feeds = { ...batchInputFeeds(ort, io, inputs), ...present };
  const rest = inputs.map((ofRequest) =>
    ofRequest.filter(
      (input): input is BytesTensor => input.kind === "bytes" && !Object.hasOwn(present, input.name),
    ),
  );
  for (const { name, datatype, shape, bytes } of gatherInputs(rest, io.batch.raggedInputs)) {
    invariant(isSupported(datatype), `datatype ${datatype} was refused at load`);
    feeds[name] =
      datatype === "BYTES"
        ? textTensor(
            ort,
            shape,
            batch.flatMap(({ texts }) => texts.get(name) ?? []),
          )
        : numericTensor(ort, datatype, shape, bytes);
  }
  return feeds;
}

/** What the batch itself tells the model, from the shapes of each request's inputs. */
export function batchInputFeeds(
  ort: Ort,
  { batch: { batchInputs } }: Pick<SessionIo, "batch">,
  requests: readonly (readonly Pick<BytesTensor, "name" | "shape">[])[],
): Record<string, OrtTensor> {
  const feeds: Record<string, OrtTensor> = {};
  for (const batchInput of batchInputs) {
    const { name, datatype, sourceInput } = batchInput;
    const { shape, bytes } = batchInputTensor(
      batchInput,
      requests.map((inputs) => shapeOf(inputs, sourceInput)),
    );
    feeds[name] = numericTensor(ort, datatype, shape, bytes);
  }
  return feeds;
}

function shapeOf(inputs: readonly Pick<BytesTensor, "name" | "shape">[], name: string): readonly number[] {
  const input = inputs.find((candidate) => candidate.name === name);
  invariant(input !== undefined, `the source '${name}' is one of the inputs`);
  return input.shape;
}

/**
 * Each request's part of the outputs that it asked for, in its order; their buffers belong to the caller. Throws an
 * InferenceError when an output is not what the configuration promises.
 */
export function scatterResults(
  io: SessionIo,
  batch: readonly PreparedRequest[],
  results: InferenceSession.ReturnType,
): readonly (readonly BytesTensor[])[] {
  const outputs: BytesTensor[] = [];
  for (const output of io.outputs) {
    const result = results[output.name];
    if (result === undefined) continue;
    const shape = output.isScalar && result.dims.length === 0 ? output.shape : result.dims;
    checkOutput(io, output, result.type, shape);
    const { name, datatype } = output;
    outputs.push({ kind: "bytes", name, datatype, shape, bytes: tensorBytes(result) });
  }
  const { batchOutputs } = io.batch;
  const byRow = batch.map(({ request }) => ({
    rows: request.batchSize,
    outputs: request.outputs.filter((name) => !batchOutputs.has(name)),
  }));
  const parts = io.isBatching
    ? scatterOutputs(outputs, byRow, { storage: "copies" })
    : byRow.map(({ outputs: names }) => selectOutputs(outputs, names));
  if (batchOutputs.size === 0) return parts;
  const likeInputs = outputs.flatMap((output) => {
    const source = batchOutputs.get(output.name);
    return source === undefined ? [] : [partsLikeInput(io, batch, output, source)];
  });
  return batch.map(({ request }, index) =>
    selectOutputs(
      [...(parts[index] ?? []), ...likeInputs.flatMap((ofRequests) => ofRequests.slice(index, index + 1))],
      request.outputs,
    ),
  );
}

function partsLikeInput(
  io: SessionIo,
  batch: readonly PreparedRequest[],
  output: BytesTensor,
  source: string,
): readonly BytesTensor[] {
  const declared = io.outputs.find(({ name }) => name === output.name)?.shape ?? [];
  const shapes = batch.map(({ inputs }) => shapeLikeInput(declared, shapeOf(inputs, source)));
  return scatterLikeInput(output, shapes, { storage: "copies" });
}

/** The number of rows is checked where they are split, and so is the size of a batch output. */
function checkOutput(io: SessionIo, output: SessionTensor, ortType: string, actual: readonly number[]): void {
  const { name, datatype, shape } = output;
  if (datatypeOf(ortType) !== datatype) {
    throw new InferenceError(
      "INTERNAL",
      `unexpected datatype ${ortType} for inference output '${name}', expecting ${datatype}`,
    );
  }
  const isExpected =
    actual.length === shape.length && shape.every((dim, i) => dim === -1 || dim === actual[i]);
  if (isExpected || !output.isConfigured || io.batch.batchOutputs.has(name)) return;
  throw new InferenceError(
    "INTERNAL",
    `unexpected shape for output '${name}' of model '${io.modelName}', model configuration shape is ` +
      `[${shape.join(",")}], inference shape is [${actual.join(",")}]`,
  );
}
