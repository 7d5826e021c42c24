import type { TextToken } from "./text-scanner.ts";
import { scanToken } from "./text-scanner.ts";

/** Ends the walk at a token; a `bad` token brings its own reason. */
export class FaultSignal extends Error {
  readonly offset: number;
  constructor(token: TextToken, reason: string) {
    super(token.kind === "bad" ? token.reason : reason);
    this.offset = token.offset;
  }
}

/** The walk over a text: `token` is the next one. */
export interface Cursor {
  readonly text: string;
  token: TextToken;
}

/** Takes the next token, whatever it is. */
export function advance(cursor: Cursor): void {
  const { token } = cursor;
  if (token.kind === "bad") throw new FaultSignal(token, token.reason);
  cursor.token = scanToken(cursor.text, token.end);
}

function isSymbol(token: TextToken, ...symbols: readonly string[]): boolean {
  return token.kind === "symbol" && symbols.includes(token.text);
}

/** Takes the next token if it is one of these symbols. */
export function takeSymbol(cursor: Cursor, ...symbols: readonly string[]): boolean {
  if (!isSymbol(cursor.token, ...symbols)) return false;
  advance(cursor);
  return true;
}

function describe(token: TextToken): string {
  return token.kind === "end"
    ? "the end of the file"
    : token.kind === "string"
      ? "a string"
      : `"${token.text}"`;
}

export function expected(token: TextToken, what: string): FaultSignal {
  return new FaultSignal(token, `expected ${what}, found ${describe(token)}`);
}
