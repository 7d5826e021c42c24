/** What the value of an option must be, in words, and whether it is. */
export interface OptionKind {
  readonly text: string;
  readonly holds: (value: unknown) => boolean;
}

export const STRING: OptionKind = { text: "a string", holds: (value) => typeof value === "string" };
export const BOOLEAN: OptionKind = { text: "true or false", holds: (value) => typeof value === "boolean" };
export const FUNCTION: OptionKind = { text: "a function", holds: (value) => typeof value === "function" };
export const STRINGS: OptionKind = {
  text: "a string or a list of strings",
  holds: (value) => STRING.holds(value) || (Array.isArray(value) && value.every((one) => STRING.holds(one))),
};

/** A path of a site, from its root. */
export const BASE: OptionKind = {
  text: "a path from the root of the site, with slashes at both ends",
  holds: (value) => typeof value === "string" && /^\/([^/?#][^?#]*\/)?$/.test(value),
};

export function integer(least: number): OptionKind {
  return {
    text: `a whole number of at least ${least}`,
    holds: (value) => Number.isSafeInteger(value) && Number(value) >= least,
  };
}

export function oneOf(...words: readonly string[]): OptionKind {
  return {
    text: `one of ${words.map((word) => `'${word}'`).join(", ")}`,
    holds: (value) => typeof value === "string" && words.includes(value),
  };
}

/** Members that are not required may be left out or undefined; others than these there must not be. */
export function record(
  kinds: Readonly<Record<string, OptionKind>>,
  required: readonly string[] = [],
): OptionKind {
  const members = Object.entries(kinds).map(([name, { text }]) => `${name}: ${text}`);
  return {
    text: `an object of { ${members.join(", ")} }`,
    holds: (value) =>
      isObject(value) &&
      required.every((name) => Object.hasOwn(value, name)) &&
      Object.entries(value).every(
        ([name, member]) =>
          (member === undefined && !required.includes(name)) || ownKind(kinds, name)?.holds(member) === true,
      ),
  };
}

/** An object with values of one kind under any names. */
export function dictionary(kind: OptionKind): OptionKind {
  return {
    text: `an object whose values are each ${kind.text}`,
    holds: (value) => isObject(value) && Object.values(value).every((one) => kind.holds(one)),
  };
}

export function list(kind: OptionKind): OptionKind {
  return {
    text: `a list, of each ${kind.text}`,
    holds: (value) => Array.isArray(value) && value.every((one) => kind.holds(one)),
  };
}

export interface OptionsCheck {
  /** Whose options they are, as it stands in messages. */
  readonly subject: string;
  readonly kinds: Readonly<Record<string, OptionKind>>;
  readonly required?: readonly string[];
}

/**
 * Throws a `TypeError` that names the option for values that no type checker has seen, for required options that are missing,
 * and for options that do not exist: a misspelt one must not be ignored. What is undefined counts as not given.
 */
export function checkOptionKinds(options: unknown, { subject, kinds, required = [] }: OptionsCheck): void {
  if (!isObject(options)) {
    throw new TypeError(`the options of ${subject} must be an object, but they are ${optionText(options)}`);
  }
  const given = Object.entries(options) as readonly (readonly [string, unknown])[];
  for (const [name] of given) {
    if (ownKind(kinds, name) === undefined) throw new TypeError(`${subject} has no option '${name}'`);
  }
  for (const [name, kind] of Object.entries(kinds)) {
    const value = given.find(([candidate]) => candidate === name)?.[1];
    if (value === undefined) {
      if (required.includes(name)) throw new TypeError(`${subject} needs the option '${name}': ${kind.text}`);
    } else if (!kind.holds(value)) {
      throw new TypeError(
        `${subject}'s option '${name}' must be ${kind.text}, but it is ${optionText(value)}`,
      );
    }
  }
}

function ownKind(kinds: Readonly<Record<string, OptionKind>>, name: string): OptionKind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}

/** Any value in a message. */
export function optionText(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `'${value}'`;
    case "number":
    case "bigint":
    case "boolean":
    case "undefined":
      return String(value);
    case "object":
      return jsonText(value);
    case "function":
    case "symbol":
      return `a ${typeof value}`;
  }
}

function jsonText(value: object | null): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "an object that JSON cannot write";
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
