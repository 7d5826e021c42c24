import { positionOf } from "./config-fault.ts";
import type { TextToken } from "./text-scanner.ts";
import { scanToken } from "./text-scanner.ts";

/**
 * Where a configuration's text, protobuf's or JSON, says something of a field: `input[1].dims`, in the names of the proto
 * file. What the text does not have, such as a default, is looked for in what is around it; `undefined` where nothing of
 * it is there, or the path is empty.
 */
export function locateField(text: string, path: string): { line: number; column: number } | undefined {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== "");
  const walk: Walk = { text, token: scanToken(text, 0), steps, best: undefined };
  if (steps.length === 0) return undefined;
  if (isSymbol(walk.token, "{")) takeValue(walk, 0);
  else takeFields(walk, 0, undefined);
  return walk.best === undefined ? undefined : positionOf(text, walk.best.offset);
}

/** The text is known to be well-formed or nearly so: what is not understood is passed over. */
interface Walk {
  readonly text: string;
  readonly steps: readonly string[];
  token: TextToken;
  /** The place that matches most steps. */
  best: { readonly depth: number; readonly offset: number } | undefined;
}

/** `depth` steps of the path led here; `undefined`: none of the fields can be meant. */
type Depth = number | undefined;

function takeFields(walk: Walk, depth: Depth, closing: string | undefined): void {
  const counts = new Map<string, number>();
  while (!isEnd(walk.token) && !(closing !== undefined && isSymbol(walk.token, closing))) {
    const { token } = walk;
    advance(walk);
    if (token.kind !== "name" && token.kind !== "string") continue;
    const name = snakeCase(token.kind === "name" ? token.text : token.text.slice(1, -1));
    const matched = depth !== undefined && walk.steps[depth] === name ? depth + 1 : undefined;
    if (matched !== undefined) found(walk, matched, token);
    if (isSymbol(walk.token, ":")) advance(walk);
    takeElements(walk, matched, counts, name);
  }
  if (closing !== undefined) advance(walk);
}

/** The values of one occurrence of a field: a list in brackets, or one element of a list that the field's name repeats. */
function takeElements(walk: Walk, depth: Depth, counts: Map<string, number>, name: string): void {
  const next = (): Depth => {
    const index = counts.get(name) ?? 0;
    counts.set(name, index + 1);
    if (depth === undefined) return undefined;
    const step = walk.steps[depth];
    // The path of a field that does not repeat has no index.
    if (step === undefined || !/^\d+$/.test(step)) return depth;
    if (step !== String(index)) return undefined;
    found(walk, depth + 1, walk.token);
    return depth + 1;
  };
  if (!isSymbol(walk.token, "[")) {
    takeValue(walk, next());
    return;
  }
  advance(walk);
  while (!isEnd(walk.token) && !isSymbol(walk.token, "]")) {
    if (isSymbol(walk.token, ",")) advance(walk);
    else takeValue(walk, next());
  }
  advance(walk);
}

function takeValue(walk: Walk, depth: Depth): void {
  const { token } = walk;
  advance(walk);
  if (isSymbol(token, "{")) takeFields(walk, depth, "}");
  else if (isSymbol(token, "<")) takeFields(walk, depth, ">");
  else if (isSymbol(token, "-")) advance(walk);
  else if (token.kind === "string") while (walk.token.kind === "string") advance(walk);
}

/** The first of equals: where a field is written twice, the text says so by itself. */
function found(walk: Walk, depth: number, { offset }: TextToken): void {
  if (walk.best === undefined || walk.best.depth < depth) walk.best = { depth, offset };
}

function advance(walk: Walk): void {
  const { token } = walk;
  // Behind what cannot be scanned nothing more is found.
  const offset = token.kind === "bad" ? walk.text.length : token.end;
  walk.token = scanToken(walk.text, offset);
}

function isSymbol(token: TextToken, symbol: string): boolean {
  return token.kind === "symbol" && token.text === symbol;
}

function isEnd(token: TextToken): boolean {
  return token.kind === "end";
}

/** JSON has the names in camelCase too. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
