import type { BytesTensor, DeviceTensor } from "@naiad/protocol";
import type { Tensor as OrtTensor } from "onnxruntime-web";
import { gpuType } from "./datatypes.ts";
import type { DeviceTensors, StoredTensor } from "./device-tensors.ts";
import type { Ort } from "./engine.ts";
import { COPY_ALIGNMENT, joinOnDevice } from "./gpu-buffers.ts";
import type { PreparedInput, PreparedRequest } from "./prepared-request.ts";
import type { SessionIo } from "./session-io.ts";

/** An input that lies on the GPU of the session that is to read it. */
export type PlacedInput = DeviceTensor & { readonly stored: StoredTensor };

export interface DeviceInputs {
  /** The requests with as bytes what could not stay on the GPU. */
  readonly batch: readonly PreparedRequest[];
  /** The engine's inputs that stayed there, by name; of these a request's own tensors are not to be read. */
  readonly feeds: Readonly<Record<string, OrtTensor>>;
  /** Tensors that were read back. */
  readonly readbacks: number;
  /** Frees what was made for the run. */
  readonly release: () => void;
}

/**
 * Makes the engine's inputs of those that lie on the GPU, for some of the requests at least. The tensor of a single request
 * is taken as it is. Those of several are copied into one buffer on the GPU, bytes of others are brought there; where the
 * rows do not have sizes that can be copied, everything becomes bytes.
 */
export async function deviceInputs(
  ort: Ort,
  io: SessionIo,
  batch: readonly PreparedRequest[],
  tensors: DeviceTensors | undefined,
): Promise<DeviceInputs> {
  if (tensors === undefined || !batch.some(({ inputs }) => inputs.some(({ kind }) => kind === "device"))) {
    return { batch, feeds: {}, readbacks: 0, release: () => undefined };
  }
  const feeds: Record<string, OrtTensor> = {};
  const scratch: GPUBuffer[] = [];
  const toRead = new Set<string>();
  for (const { name, datatype } of io.inputs) {
    const parts = batch.flatMap(({ inputs }) => inputs.find((input) => input.name === name) ?? []);
    const [first] = parts;
    const placed = parts.find((part) => part.kind === "device");
    if (first === undefined || placed === undefined) continue;
    const dataType = gpuType(datatype);
    if (dataType === undefined || io.batch.raggedInputs.has(name) || !canJoin(parts)) {
      toRead.add(name);
      continue;
    }
    const { gpu, buffer: whole, isWhole } = placed.stored;
    let buffer = whole;
    if (parts.length > 1 || !isWhole) {
      buffer = joinOnDevice(
        gpu.device,
        parts.map((part) => (part.kind === "device" ? part.stored : part.bytes)),
      );
      scratch.push(buffer);
    }
    feeds[name] = ort.Tensor.fromGpuBuffer(buffer, { dataType, dims: joinedShape(parts, first) });
  }
  let readbacks = 0;
  const asBytes = async (input: PreparedInput): Promise<PreparedInput> => {
    if (input.kind === "bytes" || !toRead.has(input.name)) return input;
    readbacks += 1;
    return readInput(input, tensors);
  };
  const read: PreparedRequest[] = [];
  for (const request of batch) {
    const inputs: PreparedInput[] = [];
    for (const input of request.inputs) inputs.push(await asBytes(input));
    read.push({ ...request, inputs });
  }
  return {
    batch: read,
    feeds,
    readbacks,
    release() {
      for (const buffer of scratch) buffer.destroy();
    },
  };
}

async function readInput(
  { name, datatype, shape, handle }: PlacedInput,
  tensors: DeviceTensors,
): Promise<BytesTensor> {
  return { kind: "bytes", name, datatype, shape, bytes: await tensors.read(handle) };
}

/** Each part but the last must end where the next may begin, and all lie on one device. */
function canJoin(parts: readonly PreparedInput[]): boolean {
  const devices = new Set(parts.flatMap((part) => (part.kind === "device" ? [part.stored.gpu.device] : [])));
  return devices.size === 1 && parts.slice(0, -1).every((part) => sizeOf(part) % COPY_ALIGNMENT === 0);
}

function sizeOf(part: PreparedInput): number {
  return part.kind === "device" ? part.stored.byteLength : part.bytes.byteLength;
}

function joinedShape(parts: readonly PreparedInput[], first: PreparedInput): readonly number[] {
  if (parts.length === 1) return first.shape;
  const rows = parts.reduce((sum, { shape }) => sum + (shape[0] ?? 0), 0);
  return [rows, ...first.shape.slice(1)];
}
