import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { Cursor, TextFault } from "./text-cursor.ts";
import { advance, expected, FaultSignal, nameHint, note, takeSymbol } from "./text-cursor.ts";
import { readEnum, readScalar } from "./text-scalar.ts";
import type { TextToken } from "./text-scanner.ts";
import { scanToken } from "./text-scanner.ts";

/**
 * The places where `text` is not a message of type `desc` in protobuf's text format; none when it is one. The library that
 * reads the text says what is wrong but not where, and only once, so on failure the tokens are walked again here.
 */
export function findTextFaults(desc: DescMessage, text: string): readonly TextFault[] {
  const cursor: Cursor = { text, faults: [], token: scanToken(text, 0) };
  try {
    readFields(cursor, desc, undefined);
  } catch (thrown) {
    if (!(thrown instanceof FaultSignal)) throw thrown;
    cursor.faults.push(thrown.fault);
  }
  return cursor.faults;
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ["{", "}"],
  ["<", ">"],
  ["[", "]"],
]);

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
  if (field === undefined) {
    const names = desc.fields.map(({ name }) => name);
    const reason = `message ${desc.name} has no field "${token.text}"`;
    note(cursor, token, reason, nameHint(token.text, names));
    advance(cursor);
    takeSymbol(cursor, ":");
    skipValue(cursor);
    return;
  }
  checkOccurrence(cursor, field, seen);
  advance(cursor);
  const hasColon = takeSymbol(cursor, ":");
  const isMessage = field.message !== undefined || field.fieldKind === "map";
  if (!hasColon && !isMessage) throw expected(cursor.token, `":" after "${field.name}"`);
  if (field.fieldKind === "list" || field.fieldKind === "map") readList(cursor, field);
  else readValue(cursor, field);
}

function checkOccurrence(cursor: Cursor, field: DescField, seen: Set<DescField>): void {
  const { token } = cursor;
  if (field.fieldKind === "list" || field.fieldKind === "map") return;
  const sibling = field.oneof?.fields.find((member) => member !== field && seen.has(member));
  if (sibling !== undefined) {
    note(
      cursor,
      token,
      `field "${field.name}" is specified along with field "${sibling.name}", another member of oneof "${field.oneof?.name ?? ""}"`,
    );
  } else if (seen.has(field)) {
    note(cursor, token, `non-repeated field "${field.name}" is specified multiple times`);
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
  } else {
    readPlainValue(cursor, () => {
      if (field.enum !== undefined) readEnum(cursor, field.enum);
      else readScalar(cursor, field.scalar);
    });
  }
}

/** A value of the wrong kind is noted and passed over. */
function readPlainValue(cursor: Cursor, read: () => void): void {
  try {
    read();
  } catch (thrown) {
    const { token } = cursor;
    const isValue =
      token.kind !== "bad" && token.kind !== "end" && (token.kind !== "symbol" || "{<[".includes(token.text));
    if (!(thrown instanceof FaultSignal) || !isValue) throw thrown;
    cursor.faults.push(thrown.fault);
    skipValue(cursor);
  }
}

/** Passes over a value, whatever it is. */
function skipValue(cursor: Cursor): void {
  const { token } = cursor;
  takeSymbol(cursor, "-");
  switch (cursor.token.kind) {
    case "string":
      takeStrings(cursor);
      return;
    case "name":
    case "integer":
    case "float":
      advance(cursor);
      return;
    case "symbol":
      if ("{<[".includes(cursor.token.text)) {
        skipBrackets(cursor);
        return;
      }
      throw expected(token, "a value");
    case "bad":
    case "end":
      throw expected(token, "a value");
  }
}

/** Adjacent literals are one string. */
function takeStrings(cursor: Cursor): void {
  while (cursor.token.kind === "string") advance(cursor);
}

/** To the bracket that closes the next token, which opens. */
function skipBrackets(cursor: Cursor): void {
  const open: string[] = [];
  do {
    const { token } = cursor;
    if (token.kind === "end") throw expected(token, `"${open.at(-1) ?? ""}"`);
    if (token.kind === "symbol") {
      const closing = CLOSING.get(token.text);
      if (closing !== undefined) open.push(closing);
      else if (token.text === open.at(-1)) open.pop();
      else if ([...CLOSING.values()].includes(token.text)) throw expected(token, `"${open.at(-1) ?? ""}"`);
    }
    advance(cursor);
  } while (open.length > 0);
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
      note(cursor, token, `non-repeated field "${token.text}" is specified multiple times`);
    }
    seen.add(token.text);
    advance(cursor);
    const hasColon = takeSymbol(cursor, ":");
    if (token.text === "value" && field.message !== undefined) {
      const value = readOpening(cursor);
      readFields(cursor, field.message, value);
    } else {
      if (!hasColon) throw expected(cursor.token, `":" after "${token.text}"`);
      readPlainValue(cursor, () => {
        if (token.text === "key") readScalar(cursor, field.mapKey);
        else if (field.enum !== undefined) readEnum(cursor, field.enum);
        else readScalar(cursor, field.scalar);
      });
    }
    takeSymbol(cursor, ",", ";");
  }
}
