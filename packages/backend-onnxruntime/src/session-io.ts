import type { BatchSignature, ModelConfig, OnnxModel, TensorSignature } from "@naiad/model-config";
import { batchSignature, modelSignature } from "@naiad/model-config";
import type { BytesTensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InferenceSession } from "onnxruntime-web";
import type { SupportedDatatype } from "./datatypes.ts";
import { datatypeOf } from "./datatypes.ts";

/** What goes into a session and comes out of it: the model's own word, with the configuration's shapes. */
export interface SessionIo {
  readonly modelName: string;
  /** Whether the first dimension of every tensor counts requests' rows. */
  readonly isBatching: boolean;
  /** Those that requests bring. */
  readonly inputs: readonly SessionTensor[];
  /** Tensors only: sequences and maps cannot be read from the engine. */
  readonly outputs: readonly SessionTensor[];
  /** Inputs and outputs that are not batched row by row. */
  readonly batch: BatchSignature;
}

export interface SessionTensor {
  readonly name: string;
  readonly datatype: SupportedDatatype;
  /** With the batch dimension; -1 is any size. */
  readonly shape: readonly number[];
  /** The configuration names it. Others are fed by the server itself, or nobody asks for them. */
  readonly isConfigured: boolean;
  /** A scalar of the model that the configuration declares as one element, as Triton wants it. */
  readonly isScalar: boolean;
  /** What an input is where a request leaves it out; without it every request must bring it. */
  readonly fallback?: BytesTensor;
}

export interface SessionIoSource {
  readonly session: Pick<InferenceSession, "inputMetadata" | "outputMetadata">;
  readonly config: ModelConfig;
  readonly onnx: Pick<OnnxModel, "inputs" | "overridableInitializers">;
  /** By name. */
  readonly defaults: ReadonlyMap<string, BytesTensor>;
}

/** INVALID_ARG when an input cannot be fed. */
export function sessionIo({ session, config, onnx, defaults }: SessionIoSource): SessionIo {
  const signature = modelSignature(config);
  const batch = batchSignature(config);
  const ofUnknownRank = new Set(
    [...onnx.inputs, ...onnx.overridableInitializers].flatMap(({ name, type }) =>
      type.kind === "tensor" && type.shape === undefined ? [name] : [],
    ),
  );
  const isBatching = signature.maxBatchSize > 0;
  const read = (
    metadata: readonly InferenceSession.ValueMetadata[],
    declared: readonly TensorSignature[],
  ): { readonly tensors: readonly SessionTensor[]; readonly unreadable: readonly string[] } => {
    const tensors: SessionTensor[] = [];
    const unreadable: string[] = [];
    for (const value of metadata) {
      const datatype = value.isTensor ? datatypeOf(value.type) : undefined;
      if (!value.isTensor || datatype === undefined) {
        unreadable.push(value.name);
        continue;
      }
      const own = declared.find(({ name }) => name === value.name);
      const shape = own === undefined ? value.shape.map(dimensionSize) : declaredShape(own, isBatching);
      // The engine reports an unknown rank as that of a scalar. Outputs show which of the two they are.
      const isScalar =
        value.shape.length === 0 &&
        !ofUnknownRank.has(value.name) &&
        shape.length > 0 &&
        shape.every((dim) => dim === 1) &&
        !isBatching;
      const fallback = defaults.get(value.name);
      tensors.push({
        name: value.name,
        datatype,
        shape,
        isConfigured: own !== undefined,
        isScalar,
        ...(fallback === undefined ? {} : { fallback }),
      });
    }
    return { tensors, unreadable };
  };
  const inputs = read(session.inputMetadata, signature.inputs);
  const outputs = read(session.outputMetadata, signature.outputs);
  const [unreadable] = inputs.unreadable;
  if (unreadable !== undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      `input '${unreadable}' of model '${config.name}' is no tensor of a type that Triton knows`,
    );
  }
  return {
    modelName: config.name,
    isBatching,
    inputs: inputs.tensors.filter(({ name }) => !batch.batchInputs.some((input) => input.name === name)),
    outputs: outputs.tensors,
    batch,
  };
}

function declaredShape(tensor: TensorSignature, isBatching: boolean): readonly number[] {
  const dims = tensor.reshape ?? tensor.dims;
  return isBatching ? [-1, ...dims] : dims;
}

/** Named sizes are texts; unnamed unknown ones are -1 read as an unsigned number. */
function dimensionSize(dimension: number | string): number {
  return typeof dimension === "string" || dimension >= 2 ** 31 ? -1 : dimension;
}
