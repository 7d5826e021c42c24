/**
 * The V2 protocol's tensor element types. `BYTES` elements are variable-sized: each is a little-endian uint32 length
 * followed by that many bytes. All others are fixed-size and little-endian.
 */
export type Datatype =
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
  | "BYTES"
  | "BF16";

const ELEMENT_BYTE_SIZE: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
  BF16: 2,
};

/** All fourteen datatypes, in the order of Triton's `DataType` enum. */
export const DATATYPES: readonly Datatype[] = Object.keys(ELEMENT_BYTE_SIZE).filter(isDatatype);

export function isDatatype(text: string): text is Datatype {
  return Object.hasOwn(ELEMENT_BYTE_SIZE, text);
}

/** Bytes of one element; 0 for BYTES, whose elements carry their own length. */
export function elementByteSize(datatype: Datatype): number {
  return ELEMENT_BYTE_SIZE[datatype];
}
