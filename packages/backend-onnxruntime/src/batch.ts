import type { BytesTensor } from "@naiad/protocol";
import { gatherInputs, InferenceError, invariant, scatterOutputs, selectOutputs } from "@naiad/protocol";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import { datatypeOf, isSupported, numericTensor, tensorBytes, textTensor } from "./datatypes.ts";
import type { Ort } from "./engine.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

/** The engine's inputs for requests that fit together. The tensors of a single request are handed on as they are. */
export function gatherFeeds(ort: Ort, batch: readonly PreparedRequest[]): Record<string, OrtTensor> {
  const feeds: Record<string, OrtTensor> = {};
  for (const { name, datatype, shape, bytes } of gatherInputs(batch.map(({ inputs }) => inputs))) {
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
  if (!io.isBatching) return batch.map(({ request }) => selectOutputs(outputs, request.outputs));
  const shares = batch.map(({ request }) => ({ rows: request.batchSize, outputs: request.outputs }));
  return scatterOutputs(outputs, shares, { storage: "copies" });
}

/** The number of rows is checked where they are split. */
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
  if (isExpected || !output.isConfigured) return;
  throw new InferenceError(
    "INTERNAL",
    `unexpected shape for output '${name}' of model '${io.modelName}', model configuration shape is ` +
      `[${shape.join(",")}], inference shape is [${actual.join(",")}]`,
  );
}
