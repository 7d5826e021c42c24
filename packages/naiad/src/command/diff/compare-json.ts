import type { JsonValue } from "@naiad/protocol";
import { isJsonArray, isJsonObject, stringifyJson } from "@naiad/protocol";

/** One thing that two servers say differently. */
export interface Difference {
  /** What about: `config.max_batch_size`. */
  readonly path: string;
  /** As text; `undefined`: this one says nothing of it. */
  readonly one: string | undefined;
  readonly other: string | undefined;
}

/** Every place where two JSON values differ. Numbers and texts of the same number are equal: both forms of int64 are common. */
export function compareJson(
  path: string,
  one: JsonValue | undefined,
  other: JsonValue | undefined,
): readonly Difference[] {
  if (isJsonObject(one) && isJsonObject(other)) {
    return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
      compareJson(path === "" ? key : `${path}.${key}`, one[key], other[key]),
    );
  }
  if (isJsonArray(one) && isJsonArray(other)) {
    return Array.from({ length: Math.max(one.length, other.length) }).flatMap((_, index) =>
      compareJson(`${path}[${index}]`, one[index], other[index]),
    );
  }
  const [oneText, otherText] = [textOf(one), textOf(other)];
  return unquoted(oneText) === unquoted(otherText) ? [] : [{ path, one: oneText, other: otherText }];
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : stringifyJson(value);
}

function unquoted(text: string | undefined): string | undefined {
  return text?.replace(/^"(-?\d+)"$/, "$1");
}
