import type { ModelSequenceBatching, ModelSignature, SequenceControl } from "@naiad/model-config";
import { configDatatype, findControl, ModelSequenceBatching_Control_Kind as Kind } from "@naiad/model-config";
import type { BytesTensor, Datatype } from "@naiad/protocol";
import { bytesOf, encodeBytesElements, invariant, newElements } from "@naiad/protocol";

/** What the control tensors of one row say. */
export interface RowControls {
  readonly start: boolean;
  readonly end: boolean;
  /** False for a row that only fills its place. */
  readonly ready: boolean;
  readonly id: string | bigint;
}

/** The control tensors that a model wants. */
export interface ControlTensors {
  /** Of one row. They may be shared with those of other rows. */
  of(row: RowControls): readonly BytesTensor[];
  /** The tensor that carries the correlation id, where the model wants one. */
  readonly correlationId: { readonly name: string; readonly datatype: Datatype } | undefined;
}

/** Of a row that only fills its place. */
export const NOT_READY: Omit<RowControls, "id"> = { start: false, end: false, ready: false };

/** `batching` is valid. */
export function controlTensors(
  batching: ModelSequenceBatching,
  { name: modelName, maxBatchSize }: Pick<ModelSignature, "name" | "maxBatchSize">,
): ControlTensors {
  const shape = maxBatchSize > 0 ? [1, 1] : [1];
  const start = flagTensors(Kind.CONTROL_SEQUENCE_START);
  const end = flagTensors(Kind.CONTROL_SEQUENCE_END);
  const ready = flagTensors(Kind.CONTROL_SEQUENCE_READY);
  const idControl = find(Kind.CONTROL_SEQUENCE_CORRID);
  const correlationId =
    idControl === undefined
      ? undefined
      : { name: idControl.tensorName, datatype: configDatatype(idControl.dataType) };

  function find(kind: Parameters<typeof findControl>[1]): SequenceControl | undefined {
    const search = findControl(batching, kind, modelName);
    return search.kind === "found" ? search.control : undefined;
  }

  function flagTensors(
    kind: Parameters<typeof findControl>[1],
  ): { readonly no: BytesTensor; readonly yes: BytesTensor } | undefined {
    const control = find(kind);
    if (control?.falseTrue === undefined) return undefined;
    const { tensorName: name, dataType } = control;
    const datatype = configDatatype(dataType);
    const [no, yes] = control.falseTrue.map((value): BytesTensor => ({
      kind: "bytes",
      name,
      datatype,
      shape,
      bytes: flagBytes(datatype, value),
    }));
    invariant(no !== undefined && yes !== undefined, "a control has two values");
    return { no, yes };
  }

  return {
    correlationId,
    of: (row) => {
      const tensors: BytesTensor[] = [];
      if (start !== undefined) tensors.push(row.start ? start.yes : start.no);
      if (end !== undefined) tensors.push(row.end ? end.yes : end.no);
      if (ready !== undefined) tensors.push(row.ready ? ready.yes : ready.no);
      if (correlationId !== undefined) {
        const { name, datatype } = correlationId;
        tensors.push({ kind: "bytes", name, datatype, shape, bytes: idBytes(datatype, row.id) });
      }
      return tensors;
    },
  };
}

function flagBytes(datatype: Datatype, value: number | boolean): Uint8Array {
  invariant(
    datatype === "BOOL" || datatype === "INT32" || datatype === "FP32",
    "a flag has one of three types",
  );
  const elements = newElements(datatype, 1);
  elements[0] = Number(value);
  return bytesOf(elements);
}

/** Ids beyond 32 bits keep their low half in a model that wants 32 bits, as in Triton. */
function idBytes(datatype: Datatype, id: string | bigint): Uint8Array {
  if (datatype === "BYTES") return encodeBytesElements([typeof id === "string" ? id : ""]);
  const all = new BigUint64Array([typeof id === "bigint" ? BigInt.asUintN(64, id) : 0n]);
  return bytesOf(all).slice(0, datatype === "UINT64" || datatype === "INT64" ? 8 : 4);
}
