/**
 * Tokens of protobuf's text format. `offset` and `end` are UTF-16 offsets into the text.
 * A `bad` token says what is wrong at `offset`; nothing can be scanned behind it.
 */
export type TextToken =
  | { readonly kind: "symbol"; readonly offset: number; readonly end: number; readonly text: string }
  | { readonly kind: "name"; readonly offset: number; readonly end: number; readonly text: string }
  | {
      readonly kind: "integer";
      readonly offset: number;
      readonly end: number;
      readonly text: string;
      readonly decimal: boolean;
      readonly value: bigint;
    }
  | { readonly kind: "float"; readonly offset: number; readonly end: number; readonly text: string }
  | {
      readonly kind: "string";
      readonly offset: number;
      readonly end: number;
      readonly text: string;
      /** Content after the escapes were resolved; adjacent literals together must be UTF-8. */
      readonly bytes: readonly number[];
    }
  | { readonly kind: "end"; readonly offset: number; readonly end: number; readonly text: string }
  | {
      readonly kind: "bad";
      readonly offset: number;
      readonly end: number;
      readonly text: string;
      readonly reason: string;
    };

const SPACE = /(?:[ \t\n\r\v\f]|#[^\n]*)*/y;
/** A minus sign glued to letters is part of the word, as in `-inf`. */
const NAME = /-?[A-Za-z_][A-Za-z0-9_]*/y;
const SYMBOL = /[{}<>[\]:,;-]/y;
const NUMBER_START = /\.?[0-9]/y;
const HEXADECIMAL = /0[xX][0-9a-fA-F]+/y;
const OCTAL = /0[0-7]+/y;
const DECIMAL = /(?:0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?([fF])?/y;
/** What may not follow a number directly. */
const NUMBER_TAIL = /[A-Za-z0-9_.+-]+/y;
const PLAIN_TEXT = /[^"'\\\n\0]+/y;

const ENCODER = new TextEncoder();

/** The token at or after `offset`, behind white space and comments. */
export function scanToken(text: string, offset: number): TextToken {
  const start = skipSpace(text, offset);
  const first = text[start];
  if (first === undefined) return { kind: "end", offset: start, end: start, text: "" };
  if (first === '"' || first === "'") return scanString(text, start, first);
  if (match(NUMBER_START, text, start) !== undefined) return scanNumber(text, start);
  const name = match(NAME, text, start);
  if (name !== undefined) return { kind: "name", offset: start, end: start + name.length, text: name };
  const symbol = match(SYMBOL, text, start);
  if (symbol !== undefined) return { kind: "symbol", offset: start, end: start + 1, text: symbol };
  return bad(text, start, `unexpected ${describeCharacter(text, start)}`);
}

function skipSpace(text: string, offset: number): number {
  const start = offset === 0 && text.startsWith("\uFEFF") ? 1 : offset;
  return start + (match(SPACE, text, start)?.length ?? 0);
}

function scanNumber(text: string, start: number): TextToken {
  const radix = match(HEXADECIMAL, text, start) ?? match(OCTAL, text, start);
  DECIMAL.lastIndex = start;
  const decimal = DECIMAL.exec(text);
  const literal = radix ?? decimal?.[0] ?? "";
  const end = start + literal.length;
  const tail = match(NUMBER_TAIL, text, end);
  if (tail !== undefined) return bad(text, start, `malformed number "${literal}${tail}"`);
  if (radix !== undefined) {
    const isHexadecimal = /^0x/i.test(radix);
    const value = BigInt(isHexadecimal ? radix : `0o${radix.slice(1)}`);
    return { kind: "integer", offset: start, end, text: literal, decimal: false, value };
  }
  const [, fraction, exponent, suffix] = decimal ?? [];
  if ((fraction ?? exponent ?? suffix) !== undefined)
    return { kind: "float", offset: start, end, text: literal };
  return { kind: "integer", offset: start, end, text: literal, decimal: true, value: BigInt(literal) };
}

function scanString(text: string, start: number, quote: string): TextToken {
  const bytes: number[] = [];
  let at = start + 1;
  for (;;) {
    const plain = match(PLAIN_TEXT, text, at);
    if (plain !== undefined) {
      for (const byte of ENCODER.encode(plain)) bytes.push(byte);
      at += plain.length;
    }
    const character = text[at];
    if (character === quote) {
      return { kind: "string", offset: start, end: at + 1, text: text.slice(start, at + 1), bytes };
    }
    if (character === undefined || character === "\n") {
      return bad(text, start, `string has no closing ${quote} on its line`);
    }
    if (character === "\0") return bad(text, at, `unexpected ${describeCharacter(text, at)} in string`);
    if (character === "\\") {
      const escape = scanEscape(text, at);
      if (escape === undefined) return bad(text, at, `malformed escape sequence in string`);
      for (const byte of escape.bytes) bytes.push(byte);
      at = escape.end;
    } else {
      bytes.push(character.charCodeAt(0));
      at += 1;
    }
  }
}

const SIMPLE_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  "'": 39,
  "?": 63,
  "\\": 92,
};
const NUMERIC_ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

function scanEscape(text: string, at: number): { bytes: Iterable<number>; end: number } | undefined {
  const simple = SIMPLE_ESCAPES[text[at + 1] ?? ""];
  if (simple !== undefined) return { bytes: [simple], end: at + 2 };
  NUMERIC_ESCAPE.lastIndex = at;
  const numeric = NUMERIC_ESCAPE.exec(text);
  if (numeric === null) return undefined;
  const [whole, octal, hexadecimal, short, long] = numeric;
  const end = at + whole.length;
  if (octal !== undefined || hexadecimal !== undefined) {
    const byte = octal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number.parseInt(octal, 8);
    return byte > 0xff ? undefined : { bytes: [byte], end };
  }
  const codePoint = Number.parseInt(short ?? long ?? "", 16);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint > 0x10ffff || isSurrogate) return undefined;
  return { bytes: ENCODER.encode(String.fromCodePoint(codePoint)), end };
}

function match(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  const found = pattern.exec(text)?.[0];
  return found === "" ? undefined : found;
}

function bad(text: string, offset: number, reason: string): TextToken {
  return { kind: "bad", offset, end: offset, text: text.slice(offset, offset + 1), reason };
}

function describeCharacter(text: string, offset: number): string {
  const codePoint = text.codePointAt(offset) ?? 0;
  const isPrintable = codePoint > 0x20 && codePoint !== 0x7f && (codePoint < 0x80 || codePoint > 0xa0);
  if (isPrintable) return `"${String.fromCodePoint(codePoint)}"`;
  return `character U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
}
