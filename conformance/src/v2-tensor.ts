/** A tensor in the V2 protocol's words and binary layout, apart from the code under test. */
export interface V2Tensor {
  readonly name: string;
  readonly datatype: V2Datatype;
  readonly shape: readonly number[];
  /** Little endian, row-major; each element of BYTES after its length in four bytes. */
  readonly bytes: Uint8Array;
}

/** The datatypes that ONNX has too. */
export type V2Datatype =
  | "BOOL"
  | "UINT8"
  | "UINT16"
  | "UINT32"
  | "UINT64"
  | "INT8"
  | "INT16"
  | "INT32"
  | "INT64"
  | "FP16"
  | "FP32"
  | "FP64"
  | "BYTES";

export type V2Element = number | bigint | string;

/** Elements one by one: 64-bit integers as bigint, BOOL as 0 and 1, BYTES as text. */
export function elementsOf({ datatype, bytes }: Pick<V2Tensor, "datatype" | "bytes">): readonly V2Element[] {
  // A copy of its own: `slice` of a Buffer would be a view on a shared one.
  const own = new Uint8Array(bytes);
  const view = new DataView(own.buffer);
  const read = (size: number, element: (offset: number) => V2Element): V2Element[] =>
    Array.from({ length: own.byteLength / size }, (_, index) => element(index * size));
  switch (datatype) {
    case "BOOL":
    case "UINT8":
      return read(1, (offset) => view.getUint8(offset));
    case "INT8":
      return read(1, (offset) => view.getInt8(offset));
    case "UINT16":
      return read(2, (offset) => view.getUint16(offset, true));
    case "INT16":
      return read(2, (offset) => view.getInt16(offset, true));
    case "UINT32":
      return read(4, (offset) => view.getUint32(offset, true));
    case "INT32":
      return read(4, (offset) => view.getInt32(offset, true));
    case "UINT64":
      return read(8, (offset) => view.getBigUint64(offset, true));
    case "INT64":
      return read(8, (offset) => view.getBigInt64(offset, true));
    case "FP16":
      return read(2, (offset) => halfToNumber(view.getUint16(offset, true)));
    case "FP32":
      return read(4, (offset) => view.getFloat32(offset, true));
    case "FP64":
      return read(8, (offset) => view.getFloat64(offset, true));
    case "BYTES":
      return texts(own, view);
  }
}

function texts(bytes: Uint8Array, view: DataView): string[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const found: string[] = [];
  for (let offset = 0; offset < bytes.byteLength;) {
    const length = view.getUint32(offset, true);
    found.push(decoder.decode(bytes.subarray(offset + 4, offset + 4 + length)));
    offset += 4 + length;
  }
  return found;
}

/** The binary layout of BYTES. */
export function bytesTensorContent(elements: readonly Uint8Array[]): Uint8Array {
  const content = new Uint8Array(elements.reduce((sum, { byteLength }) => sum + 4 + byteLength, 0));
  const view = new DataView(content.buffer);
  let offset = 0;
  for (const element of elements) {
    view.setUint32(offset, element.byteLength, true);
    content.set(element, offset + 4);
    offset += 4 + element.byteLength;
  }
  return content;
}

function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
