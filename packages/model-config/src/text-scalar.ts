import type { DescEnum } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Cursor } from "./text-cursor.ts";
import { advance, expected, FaultSignal, nameHint, note, takeSymbol } from "./text-cursor.ts";
import type { TextToken } from "./text-scanner.ts";

/** Takes a value of an enum, by name or number; a number need not have a name. */
export function readEnum(cursor: Cursor, desc: DescEnum): void {
  const start = cursor.token;
  const isNegative = takeSymbol(cursor, "-");
  const token = cursor.token;
  if (token.kind === "name" && !isNegative) {
    if (!desc.values.some(({ name }) => name === token.text)) {
      throw new FaultSignal(
        token,
        `"${token.text}" is not a value of ${desc.name}`,
        enumHint(token.text, desc),
      );
    }
  } else if (token.kind === "integer") {
    checkRange(start, isNegative ? -token.value : token.value, INTEGER_RANGES.int32);
  } else {
    throw expected(token, `a value of ${desc.name}`);
  }
  advance(cursor);
}

/** Values are often written without their prefix, as in `FP32` or `GPU`. */
function enumHint(given: string, { values }: DescEnum): string | undefined {
  const names = values.map(({ name }) => name);
  const upper = given.toUpperCase();
  const suffixed = names.find((name) => name === upper || name.endsWith(`_${upper}`));
  return suffixed === undefined ? nameHint(upper, names) : `did you mean "${suffixed}"?`;
}

interface IntegerRange {
  readonly name: string;
  readonly min: bigint;
  readonly max: bigint;
}

const INTEGER_RANGES = {
  int32: { name: "32-bit integer", min: -(2n ** 31n), max: 2n ** 31n - 1n },
  uint32: { name: "unsigned 32-bit integer", min: 0n, max: 2n ** 32n - 1n },
  int64: { name: "64-bit integer", min: -(2n ** 63n), max: 2n ** 63n - 1n },
  uint64: { name: "unsigned 64-bit integer", min: 0n, max: 2n ** 64n - 1n },
} as const satisfies Record<string, IntegerRange>;

function checkRange(token: TextToken, value: bigint, range: IntegerRange): void {
  if (value >= range.min && value <= range.max) return;
  throw new FaultSignal(token, `${value} does not fit into a ${range.name}`);
}

/** Takes a value of a scalar field. */
export function readScalar(cursor: Cursor, type: ScalarType | undefined): void {
  switch (type) {
    case ScalarType.STRING:
      readString(cursor);
      return;
    case ScalarType.BOOL:
      readBool(cursor);
      return;
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      readFloat(cursor);
      return;
    case ScalarType.UINT32:
      readInteger(cursor, INTEGER_RANGES.uint32);
      return;
    case ScalarType.UINT64:
      readInteger(cursor, INTEGER_RANGES.uint64);
      return;
    case ScalarType.INT64:
      readInteger(cursor, INTEGER_RANGES.int64);
      return;
    default:
      // The configuration has no other scalar types than int32 left.
      readInteger(cursor, INTEGER_RANGES.int32);
  }
}

function readString(cursor: Cursor): void {
  const first = cursor.token;
  if (first.kind !== "string") throw expected(first, "a string");
  const bytes: number[] = [];
  while (cursor.token.kind === "string") {
    for (const byte of cursor.token.bytes) bytes.push(byte);
    advance(cursor);
  }
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    note(cursor, first, "string is not valid UTF-8");
  }
}

const BOOL_NAMES: ReadonlySet<string> = new Set(["true", "True", "t", "false", "False", "f"]);

function readBool(cursor: Cursor): void {
  const { token } = cursor;
  const isBool =
    (token.kind === "name" && BOOL_NAMES.has(token.text)) || (token.kind === "integer" && token.value <= 1n);
  if (!isBool) throw expected(token, "true or false");
  advance(cursor);
}

function readFloat(cursor: Cursor): void {
  const isNegative = takeSymbol(cursor, "-");
  const { token } = cursor;
  const isNamed = token.kind === "name" && !isNegative && /^(?:-?inf|-?infinity|nan)$/i.test(token.text);
  if (!isNamed && token.kind !== "float" && !(token.kind === "integer" && token.decimal)) {
    throw expected(token, "a decimal number");
  }
  advance(cursor);
}

function readInteger(cursor: Cursor, range: IntegerRange): void {
  const start = cursor.token;
  const isNegative = takeSymbol(cursor, "-");
  const { token } = cursor;
  if (token.kind !== "integer") throw expected(token, "an integer");
  if (isNegative && range.min === 0n)
    throw new FaultSignal(start, `a negative number does not fit into an ${range.name}`);
  checkRange(start, isNegative ? -token.value : token.value, range);
  advance(cursor);
}
