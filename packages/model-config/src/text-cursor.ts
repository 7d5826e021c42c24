import { nearestName } from "@naiad/protocol";
import type { TextToken } from "./text-scanner.ts";
import { scanToken } from "./text-scanner.ts";

/** `offset` is a UTF-16 offset into the text. */
export interface TextFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint?: string;
}

/** Ends the walk at a token, or that over one value; a `bad` token brings its own reason. */
export class FaultSignal extends Error {
  readonly fault: TextFault;
  constructor(token: TextToken, reason: string, hint?: string) {
    super(token.kind === "bad" ? token.reason : reason);
    this.fault = { offset: token.offset, reason: this.message, ...(hint !== undefined && { hint }) };
  }
}

/** The walk over a text: `token` is the next one, `faults` what was found so far. */
export interface Cursor {
  readonly text: string;
  readonly faults: TextFault[];
  token: TextToken;
}

/** Notes a fault that the walk can go on behind. */
export function note(cursor: Cursor, token: TextToken, reason: string, hint?: string): void {
  cursor.faults.push(new FaultSignal(token, reason, hint).fault);
}

/** The name that was probably meant. */
export function nameHint(given: string, names: readonly string[]): string | undefined {
  const near = nearestName(given, names);
  return near === undefined ? undefined : `did you mean "${near}"?`;
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
