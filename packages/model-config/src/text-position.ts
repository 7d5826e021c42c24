import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { Cursor } from "./text-cursor.ts";
import { advance, expected, FaultSignal, takeSymbol } from "./text-cursor.ts";
import { readEnum, readScalar } from "./text-scalar.ts";
import type { TextToken } from "./text-scanner.ts";
import { scanToken } from "./text-scanner.ts";

/** `offset` is a UTF-16 offset into the text. */
export interface TextFault {
  readonly offset: number;
  readonly reason: string;
}

/**
 * The first place where `text` is not a message of type `desc` in protobuf's text format; `undefined` when it is one.
 * The library that reads the text says what is wrong but not where, so on failure the tokens are walked again here.
 */
export function findTextFault(desc: DescMessage, text: string): TextFault | undefined {
  try {
    readFields({ text, token: scanToken(text, 0) }, desc, undefined);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof FaultSignal) return { offset: thrown.offset, reason: thrown.message };
    throw thrown;
  }
}

/** The opening bracket of a message, for telling where one was left open. */
interface Opening {
  readonly token: TextToken;
  readonly closing: string;
}

function readOpening(cursor: Cursor): Opening {
  const { token } = cursor;
  if (!takeSymbol(cursor, "{", "<")) throw expected(token, `"{"`);
  return { token, closing: token.text === "{" ? "}" : ">" };
}

/** True after the closing bracket was taken. */
function takeClosing(cursor: Cursor, opening: Opening): boolean {
  const { token } = cursor;
  if (token.kind !== "end") return takeSymbol(cursor, opening.closing);
  const line = cursor.text.slice(0, opening.token.offset).split("\n").length;
  throw new FaultSignal(
    token,
    `expected "${opening.closing}" to close the "${opening.token.text}" of line ${line}, found the end of the file`,
  );
}

function readFields(cursor: Cursor, desc: DescMessage, opening: Opening | undefined): void {
  const seen = new Set<DescField>();
  for (;;) {
    if (opening === undefined ? cursor.token.kind === "end" : takeClosing(cursor, opening)) return;
    readField(cursor, desc, seen);
    takeSymbol(cursor, ",", ";");
  }
}

function readField(cursor: Cursor, desc: DescMessage, seen: Set<DescField>): void {
  const token = cursor.token;
  if (token.kind !== "name") throw expected(token, "a field name");
  const field = desc.fields.find(({ name }) => name === token.text);
  if (field === undefined) throw new FaultSignal(token, `message ${desc.name} has no field "${token.text}"`);
  checkOccurrence(token, field, seen);
  advance(cursor);
  const hasColon = takeSymbol(cursor, ":");
  const isMessage = field.message !== undefined || field.fieldKind === "map";
  if (!hasColon && !isMessage) throw expected(cursor.token, `":" after "${field.name}"`);
  if (field.fieldKind === "list" || field.fieldKind === "map") readList(cursor, field);
  else readValue(cursor, field);
}

function checkOccurrence(token: TextToken, field: DescField, seen: Set<DescField>): void {
  if (field.fieldKind === "list" || field.fieldKind === "map") return;
  const sibling = field.oneof?.fields.find((member) => member !== field && seen.has(member));
  if (sibling !== undefined) {
    throw new FaultSignal(
      token,
      `field "${field.name}" is specified along with field "${sibling.name}", another member of oneof "${field.oneof?.name ?? ""}"`,
    );
  }
  if (seen.has(field)) {
    throw new FaultSignal(token, `non-repeated field "${field.name}" is specified multiple times`);
  }
  seen.add(field);
}

function readList(cursor: Cursor, field: DescField): void {
  if (!takeSymbol(cursor, "[")) {
    readValue(cursor, field);
    return;
  }
  if (takeSymbol(cursor, "]")) return;
  for (;;) {
    readValue(cursor, field);
    if (takeSymbol(cursor, "]")) return;
    if (!takeSymbol(cursor, ",")) throw expected(cursor.token, `"," or "]"`);
  }
}

function readValue(cursor: Cursor, field: DescField): void {
  if (field.fieldKind === "map") {
    readMapEntry(cursor, field);
  } else if (field.message !== undefined) {
    const opening = readOpening(cursor);
    readFields(cursor, field.message, opening);
  } else if (field.enum !== undefined) {
    readEnum(cursor, field.enum);
  } else {
    readScalar(cursor, field.scalar);
  }
}

function readMapEntry(cursor: Cursor, field: DescField & { readonly fieldKind: "map" }): void {
  const opening = readOpening(cursor);
  const seen = new Set<string>();
  while (!takeClosing(cursor, opening)) {
    const { token } = cursor;
    if (token.kind !== "name" || (token.text !== "key" && token.text !== "value")) {
      throw expected(token, `"key" or "value"`);
    }
    if (seen.has(token.text)) {
      throw new FaultSignal(token, `non-repeated field "${token.text}" is specified multiple times`);
    }
    seen.add(token.text);
    advance(cursor);
    const hasColon = takeSymbol(cursor, ":");
    if (token.text === "value" && field.message !== undefined) {
      const value = readOpening(cursor);
      readFields(cursor, field.message, value);
    } else {
      if (!hasColon) throw expected(cursor.token, `":" after "${token.text}"`);
      if (token.text === "key") readScalar(cursor, field.mapKey);
      else if (field.enum !== undefined) readEnum(cursor, field.enum);
      else readScalar(cursor, field.scalar);
    }
    takeSymbol(cursor, ",", ";");
  }
}
