import { JsonFloat, type JsonNode, type NumberArray } from "./json-node.ts";
import { NESTING_LIMIT, nestingError, parseNumbers } from "./json-numbers.ts";
import { InferenceError } from "./status.ts";
import { firstInvalidUtf8, utf8Length } from "./utf8-offset.ts";

/** Below this length a call of the engine's parser costs more than it saves. */
const NATIVE_MIN_LENGTH = 64;

/**
 * Reads one document with rapidjson's rules (NaN and Inf enabled). Bytes must be UTF-8; a byte order mark is skipped.
 * Throws INTERNAL with rapidjson's message and byte offset, INVALID_ARG for too deep a nesting.
 */
export function readJson(input: Uint8Array | string): JsonNode {
  if (typeof input === "string") return new JsonReader(input, { native: "allowed" }).readDocument();
  const offset = input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf ? 3 : 0;
  return new JsonReader(decodeUtf8(input), { native: "allowed", byteOffset: offset }).readDocument();
}

/** Reads a text that is one array without any use of the engine's parser. */
export function readExactArray(text: string): readonly JsonNode[] {
  return new JsonReader(text, { native: "never" }).readArray();
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    throw syntaxError("Invalid encoding in string.", firstInvalidUtf8(bytes));
  }
}

function syntaxError(message: string, offset: number): InferenceError {
  return new InferenceError(
    "INTERNAL",
    `failed to parse the request JSON buffer: ${message} at ${String(offset)}`,
  );
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

const INT64_MAGNITUDE = 2n ** 63n;
const UINT64_MAX = 2n ** 64n - 1n;

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

interface ReaderOptions {
  /** Whether long arrays of numbers may go through `JSON.parse`. */
  readonly native: "allowed" | "never";
  /** Bytes of the input before the text's first character. */
  readonly byteOffset?: number;
}

/** For objects in which a name stands more than once: all names in their order. */
const ALL_NAMES = new WeakMap<ReadonlyMap<string, JsonNode>, readonly string[]>();

/** The names of an object's members in the order of the text, repeated ones as often as they stand there. */
export function memberNames(members: ReadonlyMap<string, JsonNode>): readonly string[] {
  return ALL_NAMES.get(members) ?? [...members.keys()];
}

class JsonReader {
  readonly #text: string;
  readonly #byteOffset: number;
  #position = 0;
  #depth = 0;
  /** No use of `JSON.parse` before this position: where it failed once it would fail again. */
  #nativeFrom: number;
  /** The next `"` and the next `}` at or after the position, once looked for. */
  #nextQuote = -1;
  #nextBrace = -1;

  constructor(text: string, options: ReaderOptions) {
    this.#text = text;
    this.#byteOffset = options.byteOffset ?? 0;
    this.#nativeFrom = options.native === "allowed" ? 0 : Infinity;
  }

  readDocument(): JsonNode {
    this.#skipWhitespace();
    if (this.#peek() === 0) throw this.#error("The document is empty.");
    const value = this.#readValue();
    this.#skipWhitespace();
    if (this.#peek() !== 0) throw this.#error("The document root must not be followed by other values.");
    return value;
  }

  /** The text must begin with an array. */
  readArray(): readonly JsonNode[] {
    return this.#readElements();
  }

  /** Code of the current character; 0 at the end, and a NUL in the text ends it, as rapidjson has it. */
  #peek(): number {
    return this.#position < this.#text.length ? this.#text.charCodeAt(this.#position) : 0;
  }

  #consume(code: number): boolean {
    if (this.#peek() !== code) return false;
    this.#position++;
    return true;
  }

  #skipWhitespace(): void {
    for (;;) {
      const code = this.#peek();
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#position++;
    }
  }

  #readValue(): JsonNode {
    switch (this.#peek()) {
      case LEFT_BRACE:
        return this.#readObject();
      case LEFT_BRACKET:
        return this.#readNumbers() ?? this.#readElements();
      case QUOTE:
        return this.#readString();
      case 0x6e:
        return this.#readWord("null", null);
      case 0x74:
        return this.#readWord("true", true);
      case 0x66:
        return this.#readWord("false", false);
      default:
        return this.#readNumber();
    }
  }

  #readWord<Value>(word: string, value: Value): Value {
    this.#expectWord(word);
    return value;
  }

  #expectWord(word: string): void {
    for (let index = 0; index < word.length; index++) {
      if (!this.#consume(word.charCodeAt(index))) throw this.#error("Invalid value.");
    }
  }

  #enter(): void {
    this.#position++;
    if (++this.#depth > NESTING_LIMIT) throw nestingError();
  }

  #readObject(): ReadonlyMap<string, JsonNode> {
    this.#enter();
    const members = new Map<string, JsonNode>();
    let repeated: string[] | undefined;
    this.#skipWhitespace();
    if (!this.#consume(RIGHT_BRACE)) {
      for (;;) {
        if (this.#peek() !== QUOTE) throw this.#error("Missing a name for object member.");
        const name = this.#readString();
        this.#skipWhitespace();
        if (!this.#consume(COLON)) throw this.#error("Missing a colon after a name of object member.");
        this.#skipWhitespace();
        const value = this.#readValue();
        if (members.has(name)) repeated ??= [...members.keys()];
        else members.set(name, value);
        repeated?.push(name);
        this.#skipWhitespace();
        if (this.#consume(RIGHT_BRACE)) break;
        if (!this.#consume(COMMA)) throw this.#error("Missing a comma or } after an object member.");
        this.#skipWhitespace();
      }
    }
    this.#depth--;
    if (repeated !== undefined) ALL_NAMES.set(members, repeated);
    return members;
  }

  #readElements(): readonly JsonNode[] {
    this.#enter();
    const elements: JsonNode[] = [];
    this.#skipWhitespace();
    if (!this.#consume(RIGHT_BRACKET)) {
      for (;;) {
        elements.push(this.#readValue());
        this.#skipWhitespace();
        if (this.#consume(RIGHT_BRACKET)) break;
        if (!this.#consume(COMMA)) throw this.#error("Missing a comma or ] after an array element.");
        this.#skipWhitespace();
      }
    }
    this.#depth--;
    return elements;
  }

  /**
   * Reads a long array of numbers through `JSON.parse`, or leaves everything as it was and returns `undefined`.
   *
   * Such an array holds no quote and no brace, so it ends with the last bracket before the next of them. If that guess
   * is wrong the piece is no valid JSON, because no array is the beginning of another.
   */
  #readNumbers(): NumberArray | undefined {
    const start = this.#position;
    if (start < this.#nativeFrom) return undefined;
    if (this.#nextQuote < start) this.#nextQuote = this.#find('"');
    if (this.#nextBrace < start) this.#nextBrace = this.#find("}");
    const limit = Math.min(this.#nextQuote, this.#nextBrace);
    if (limit - start < NATIVE_MIN_LENGTH) return undefined;
    const end = this.#text.lastIndexOf("]", limit) + 1;
    const text = this.#text.slice(start, Math.max(start, end));
    const array = parseNumbers({ text, depth: this.#depth + 1, exact: () => readExactArray(text) });
    if (array === undefined) {
      this.#nativeFrom = limit;
      return undefined;
    }
    this.#position = end;
    return array;
  }

  #find(character: string): number {
    const index = this.#text.indexOf(character, this.#position);
    return index === -1 ? this.#text.length : index;
  }

  #readString(): string {
    this.#position++;
    let decoded = "";
    let start = this.#position;
    for (;;) {
      const code = this.#peek();
      if (code === QUOTE) {
        const rest = this.#text.slice(start, this.#position++);
        return decoded === "" ? rest : decoded + rest;
      }
      if (code === BACKSLASH) {
        decoded += this.#text.slice(start, this.#position) + this.#readEscape();
        start = this.#position;
      } else if (code < 0x20) {
        throw this.#error(
          code === 0 ? "Missing a closing quotation mark in string." : "Invalid encoding in string.",
        );
      } else {
        this.#position++;
      }
    }
  }

  #readEscape(): string {
    const start = this.#position++;
    const letter = this.#text.charAt(this.#position++);
    if (letter !== "u") {
      const character = SIMPLE_ESCAPES.get(letter);
      if (character === undefined) throw this.#error("Invalid escape character in string.", start);
      return character;
    }
    const unit = this.#readHex(start);
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    const paired = unit < 0xdc00 && this.#consume(BACKSLASH) && this.#consume(0x75);
    const low = paired ? this.#readHex(start) : 0;
    if (low < 0xdc00 || low > 0xdfff) throw this.#error("The surrogate pair in string is invalid.", start);
    return String.fromCharCode(unit, low);
  }

  #readHex(escapeStart: number): number {
    const digits = this.#text.slice(this.#position, this.#position + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) {
      throw this.#error("Incorrect hex digit after \\u escape in string.", escapeStart);
    }
    this.#position += 4;
    return Number.parseInt(digits, 16);
  }

  #readNumber(): number | bigint | JsonFloat {
    const start = this.#position;
    const negative = this.#consume(MINUS);
    const first = this.#peek();
    if (first === 0x49 || first === 0x4e) return this.#readNonFinite(negative ? "negative" : "positive");
    if (first < ZERO || first > NINE) throw this.#error("Invalid value.");
    this.#position++;
    if (first !== ZERO) this.#skipDigits();

    let isFloat = false;
    if (this.#consume(DOT)) {
      isFloat = true;
      if (this.#skipDigits() === 0) throw this.#error("Miss fraction part in number.");
    }
    if (this.#consume(0x65) || this.#consume(0x45)) {
      isFloat = true;
      if (!this.#consume(0x2b)) this.#consume(MINUS);
      if (this.#skipDigits() === 0) throw this.#error("Miss exponent in number.");
    }
    const literal = this.#text.slice(start, this.#position);
    const value = Number(literal);
    if (!Number.isFinite(value)) throw this.#error("Number too big to be stored in double.", start);
    if (isFloat) return Number.isInteger(value) ? new JsonFloat(value) : value;
    if (Number.isSafeInteger(value)) return value;
    const integer = BigInt(literal);
    return integer < -INT64_MAGNITUDE || integer > UINT64_MAX ? new JsonFloat(value) : integer;
  }

  #readNonFinite(sign: "negative" | "positive"): number {
    if (this.#peek() === 0x4e) return this.#readWord("NaN", NaN);
    this.#expectWord("Inf");
    if (this.#peek() === 0x69) this.#expectWord("inity");
    return sign === "negative" ? -Infinity : Infinity;
  }

  #skipDigits(): number {
    const start = this.#position;
    for (;;) {
      const code = this.#peek();
      if (code < ZERO || code > NINE) return this.#position - start;
      this.#position++;
    }
  }

  #error(message: string, position: number = this.#position): InferenceError {
    return syntaxError(message, this.#byteOffset + utf8Length(this.#text, position));
  }
}
