import { isImported, listOf, PickleReader } from "./pickle-reader.ts";

/** A tensor of a checkpoint: its values in row-major order of `shape`. */
export interface CheckpointTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array<ArrayBuffer>;
}

/** A tensor as the pickle describes it: a view on a storage that comes later in the file. */
interface TensorView {
  readonly storage: Storage;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

interface Storage {
  readonly type: string;
  readonly key: string;
}

/**
 * Reads the FP32 tensors of a PyTorch checkpoint (`state_dict`) in the format before version 1.6: five pickles (magic number,
 * protocol, system, the dictionary, the keys of the storages in the order of the file), then every storage as a 64-bit
 * count and its elements. Tensors of other types are left out.
 */
export function readTorchCheckpoint(bytes: Uint8Array): ReadonlyMap<string, CheckpointTensor> {
  const reader = new PickleReader(bytes, { persistent: storageOf, call: callOf });
  for (const part of ["magic number", "protocol", "system"]) {
    if (reader.read() === undefined) throw new Error(`the ${part} of the checkpoint is missing`);
  }
  const dictionary = reader.read();
  const keys = reader.read();
  if (!(dictionary instanceof Map) || !Array.isArray(keys)) throw new Error("this is no state_dict");
  const views = [...dictionary].filter(
    (entry): entry is [string, TensorView] => isView(entry[1]) && entry[1].storage.type === "FloatStorage",
  );
  const types = new Map(
    [...dictionary.values()].filter(isView).map(({ storage }) => [storage.key, storage.type]),
  );
  const storages = readStorages(bytes, reader.offset, keys.map(String), types);
  return new Map(views.map(([name, view]) => [name, { shape: view.shape, values: inOrder(view, storages) }]));
}

const STORAGE_BYTES: Readonly<Record<string, number>> = { FloatStorage: 4, LongStorage: 8 };

function readStorages(
  bytes: Uint8Array,
  start: number,
  keys: readonly string[],
  types: ReadonlyMap<string, string>,
): ReadonlyMap<string, Float32Array<ArrayBuffer>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const storages = new Map<string, Float32Array<ArrayBuffer>>();
  let offset = start;
  for (const key of keys) {
    const type = types.get(key) ?? "unknown";
    const size = STORAGE_BYTES[type];
    if (size === undefined) throw new Error(`storage ${key} is of type ${type}, which is not supported`);
    const count = Number(view.getBigUint64(offset, true));
    offset += 8;
    // A copy, because the elements need not be aligned.
    const content = new Uint8Array(bytes.subarray(offset, offset + count * size));
    if (type === "FloatStorage") storages.set(key, new Float32Array(content.buffer));
    offset += count * size;
  }
  return storages;
}

function inOrder(view: TensorView, storages: ReadonlyMap<string, Float32Array>): Float32Array<ArrayBuffer> {
  const storage = storages.get(view.storage.key);
  if (storage === undefined) throw new Error(`storage ${view.storage.key} is missing`);
  const values = new Float32Array(view.shape.reduce((product, size) => product * size, 1));
  let next = 0;
  const visit = (axis: number, offset: number): void => {
    const [size, stride] = [view.shape[axis], view.strides[axis]];
    if (size === undefined || stride === undefined) {
      values[next] = storage[offset] ?? Number.NaN;
      next += 1;
      return;
    }
    for (let index = 0; index < size; index += 1) visit(axis + 1, offset + index * stride);
  };
  visit(0, view.offset);
  return values;
}

function isView(value: unknown): value is TensorView {
  return typeof value === "object" && value !== null && "storage" in value;
}

function storageOf(id: unknown): Storage {
  const [, type, key] = listOf(id);
  if (!isImported(type)) throw new Error("the pickle refers to what is no storage");
  return { type: type.imported.replace("torch.", ""), key: String(key) };
}

function callOf(callee: unknown, values: readonly unknown[]): unknown {
  const name = isImported(callee) ? callee.imported : "what is no function";
  const [storage, offset, shape, strides] = values;
  if (name === "collections.OrderedDict") return new Map();
  if (name === "torch._utils._rebuild_tensor_v2") return { storage, offset, shape, strides };
  throw new Error(`the pickle calls ${name}, which is not supported`);
}
