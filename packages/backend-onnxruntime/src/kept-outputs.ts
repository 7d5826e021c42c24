import type { DeviceTensor } from "@naiad/protocol";
import { elementCount, tensorByteSize } from "@naiad/protocol";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import type { GpuType, SupportedDatatype } from "./datatypes.ts";
import { gpuType } from "./datatypes.ts";
import type { Ort } from "./engine.ts";
import type { ExecutionTarget } from "./execution-target.ts";
import { COPY_ALIGNMENT, createTensorBuffer } from "./gpu-buffers.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import type { SessionIo } from "./session-io.ts";

/** An output of a whole batch that can stay on the GPU, because its size is known before the run. */
export interface KeptOutput {
  readonly name: string;
  readonly datatype: SupportedDatatype;
  readonly dataType: GpuType;
  /** As the engine has it. */
  readonly dims: readonly number[];
  /** Of each request of the batch, in order, also of those that do not want it. */
  readonly parts: readonly OutputPart[];
}

interface OutputPart {
  readonly shape: readonly number[];
  readonly byteLength: number;
}

/**
 * Which outputs of a batch stay on the GPU: those that every request that wants them takes there, of a datatype that
 * WebGPU has, with a configured shape that leaves nothing open, and whose rows can be copied one by one where the batch has
 * several requests.
 */
export function selectKeptOutputs(io: SessionIo, batch: readonly PreparedRequest[]): readonly KeptOutput[] {
  const rows = batch.reduce((sum, { request }) => sum + request.batchSize, 0);
  return io.outputs.flatMap(({ name, datatype, shape, isConfigured, isScalar }): KeptOutput[] => {
    const wanting = batch.filter(({ request }) => request.outputs.includes(name));
    const areTaken = wanting.every(({ request }) => request.keepOnDevice?.includes(name) === true);
    const dataType = gpuType(datatype);
    if (wanting.length === 0 || !areTaken || dataType === undefined) return [];
    const perRow = io.isBatching ? shape.slice(1) : shape;
    const rowSize = tensorByteSize(datatype, perRow) ?? 0;
    const isKnown = isConfigured && !io.batch.batchOutputs.has(name) && perRow.every((dim) => dim >= 0);
    const isDivisible = batch.length === 1 || rowSize % COPY_ALIGNMENT === 0;
    const whole = io.isBatching ? [rows, ...perRow] : shape;
    if (!isKnown || !isDivisible || elementCount(whole) === 0) return [];
    const parts = batch.map(({ request }): OutputPart => {
      const own = io.isBatching ? [request.batchSize, ...perRow] : shape;
      return { shape: own, byteLength: (io.isBatching ? request.batchSize : 1) * rowSize };
    });
    return [{ name, datatype, dataType, dims: isScalar ? [] : whole, parts }];
  });
}

/** What is to be answered as bytes. */
export function withoutKept(
  kept: readonly KeptOutput[],
  results: InferenceSession.ReturnType,
  batch: readonly PreparedRequest[],
): { readonly results: InferenceSession.ReturnType; readonly batch: readonly PreparedRequest[] } {
  if (kept.length === 0) return { results, batch };
  const isRead = (name: string): boolean => kept.every((output) => output.name !== name);
  return {
    results: Object.fromEntries(Object.entries(results).filter(([name]) => isRead(name))),
    batch: batch.map((prepared) => {
      const outputs = prepared.request.outputs.filter(isRead);
      return { ...prepared, request: { ...prepared.request, outputs } };
    }),
  };
}

/** Buffers for the outputs of one run. */
export interface OutputBuffers {
  /** What the engine is to give: where it finds a tensor it writes into that one. */
  fetches(names: readonly string[]): Record<string, OrtTensor | null>;
  /** After the run: for each request of the batch those that it wants, which whoever gets them disposes. */
  give(batch: readonly PreparedRequest[]): readonly (readonly DeviceTensor[])[];
  /** The run failed. */
  discard(): void;
}

export function outputBuffers(
  ort: Ort,
  outputs: readonly KeptOutput[],
  target: ExecutionTarget,
): OutputBuffers {
  if (target.kind !== "webgpu" || target.tensors === undefined || outputs.length === 0) return NO_BUFFERS;
  const { tensors, gpu } = target;
  const made = outputs.map((output) => ({
    output,
    buffer: createTensorBuffer(gpu.device, tensorByteSize(output.datatype, output.dims) ?? 0),
  }));
  return {
    fetches(names) {
      const fetches = NO_BUFFERS.fetches(names);
      for (const { output, buffer } of made) {
        const { name, dataType, dims } = output;
        fetches[name] = ort.Tensor.fromGpuBuffer(buffer, { dataType, dims });
      }
      return fetches;
    },
    give(batch) {
      const given = batch.map((): DeviceTensor[] => []);
      for (const { output, buffer } of made) {
        const { name, datatype, parts } = output;
        const { worker } = tensors;
        const byteLengths = parts.map(({ byteLength }) => byteLength);
        for (const [index, handle] of tensors.keep(gpu, buffer, byteLengths).entries()) {
          const shape = parts[index]?.shape ?? [];
          if (batch[index]?.request.outputs.includes(name) === true) {
            given[index]?.push({ kind: "device", name, datatype, shape, worker, handle });
          } else tensors.dispose(handle);
        }
      }
      return given;
    },
    discard() {
      for (const { buffer } of made) buffer.destroy();
    },
  };
}

const NO_BUFFERS: OutputBuffers = {
  fetches: (names) => Object.fromEntries(names.map((name) => [name, null])),
  give: (batch) => batch.map(() => []),
  discard: () => undefined,
};
