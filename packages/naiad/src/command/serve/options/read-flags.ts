import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { nearestName } from "@naiad/protocol";
import { UsageError } from "../../command-io.ts";
import type { Flag } from "./flags.ts";
import { FLAG_GROUPS } from "./flags.ts";
import { ABSENT_FLAGS, FIXED_FLAGS, FLAG_ALIASES, IDLE_FLAGS, OLD_FLAGS } from "./tritonserver-flags.ts";

/** Texts of the options that were given, by name, each checked for its kind. */
export interface GivenFlags {
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Options that do nothing here, each as a sentence. */
  readonly warnings: readonly string[];
}

const OFFERED: Readonly<Record<string, Flag>> = Object.fromEntries(
  FLAG_GROUPS.flatMap(({ flags }) => Object.entries(flags)),
);
const FLAGS: Readonly<Record<string, Pick<Flag, "kind" | "repeats">>> = {
  ...OFFERED,
  ...FIXED_FLAGS,
  ...OLD_FLAGS,
  help: { kind: "switch" },
};
/** Of every option that is taken. */
export const FLAG_NAMES: readonly string[] = [
  ...Object.keys({ ...OFFERED, ...FLAG_ALIASES, ...FIXED_FLAGS, ...OLD_FLAGS }),
  ...IDLE_FLAGS,
];

/**
 * Reads the command line and, where it names one, the configuration file. Throws a `UsageError` for options that do not
 * exist, values of the wrong kind, and whatever is no option.
 */
export function readFlags(argv: readonly string[]): GivenFlags {
  const line = collect(pairsOf(argv));
  const [file] = line.values.get("config") ?? [];
  if (file === undefined) return line;
  const fromFile = readFile(file);
  return {
    values: new Map([...fromFile.values, ...line.values]),
    warnings: [...fromFile.warnings, ...line.warnings],
  };
}

/** `value` is undefined where the option stands alone. */
interface Pair {
  readonly name: string;
  readonly value: string | undefined;
}

function pairsOf(argv: readonly string[]): readonly Pair[] {
  const takesValue = (name: string): boolean => {
    const kind = kindOf(name);
    if (IDLE_FLAGS.includes(name) || Object.hasOwn(ABSENT_FLAGS, name)) return true;
    return kind !== undefined && kind !== "switch" && kind !== "boolean";
  };
  const names = [...FLAG_NAMES, ...Object.keys(ABSENT_FLAGS), "help"];
  const { tokens } = parseArgs({
    args: [...argv],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: {
      ...Object.fromEntries(
        names.map((name) => [name, { type: takesValue(name) ? ("string" as const) : ("boolean" as const) }]),
      ),
      help: { type: "boolean", short: "h" },
    },
  });
  const pairs: Pair[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind === "option") {
      const next = tokens[index + 1];
      const follows =
        token.value === undefined && kindOf(token.name) === "boolean" && next?.kind === "positional"
          ? next.value
          : undefined;
      if (!token.rawName.startsWith("--") && token.name !== "help")
        throw unknownOption(token.rawName, token.name);
      pairs.push({ name: token.name, value: token.value ?? asBoolean(follows) });
    } else if (token.kind === "positional") {
      const before = tokens[index - 1];
      const isValue =
        before?.kind === "option" &&
        before.value === undefined &&
        kindOf(before.name) === "boolean" &&
        asBoolean(token.value) !== undefined;
      if (!isValue) {
        // What follows a misspelt option is its value.
        if (before?.kind === "option" && before.value === undefined) checkKnown(before.name);
        throw new UsageError(`'${token.value}' is no option; models are named with --model-repository`);
      }
    }
  }
  return pairs;
}

/** As tritonserver reads booleans. */
function asBoolean(text: string | undefined): "true" | "false" | undefined {
  switch (text?.toLowerCase()) {
    case "true":
    case "1":
      return "true";
    case "false":
    case "0":
      return "false";
    default:
      return undefined;
  }
}

/** Every error names the file. */
function readFile(path: string): GivenFlags {
  try {
    return collect(pairsOfFile(JSON.parse(readFileSync(path, "utf8"))));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--config '${path}': ${message}`, { cause: error });
  }
}

function pairsOfFile(content: unknown): readonly Pair[] {
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new UsageError("it must hold an object of options");
  }
  return Object.entries(content).flatMap(([name, value]: readonly [string, unknown]) =>
    (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map((one) => {
      if (!["string", "number", "boolean"].includes(typeof one) || name === "config") {
        throw new UsageError(`there is no option in '${name}'`);
      }
      // As on the command line, too.
      return { name: name.replace(/^--/, ""), value: String(one) };
    }),
  );
}

function collect(pairs: readonly Pair[]): GivenFlags {
  const values = new Map<string, string[]>();
  const warnings = new Set<string>();
  for (const { name: given, value } of pairs) {
    const name = ownValue(FLAG_ALIASES, given) ?? given;
    if (IDLE_FLAGS.includes(name)) {
      warnings.add(`--${name} does nothing in a browser`);
      continue;
    }
    const absent = ownValue(ABSENT_FLAGS, name);
    if (absent !== undefined) {
      if (name.startsWith("allow-") && asBoolean(value) === "false") continue;
      throw new UsageError(`--${name}: ${absent} is not served`);
    }
    const text = checked(name, value);
    const fixed = ownValue(FIXED_FLAGS, name);
    if (fixed !== undefined) {
      if (text !== fixed.only) throw new UsageError(`--${name} can only be ${fixed.only}`);
      continue;
    }
    const old = ownValue(OLD_FLAGS, name);
    if (old !== undefined) warnings.add(`--${name} is deprecated; say it with --${old.now}`);
    const known = values.get(name);
    if (known === undefined || ownValue(FLAGS, name)?.repeats !== true) values.set(name, [text]);
    else known.push(text);
  }
  return { values, warnings: [...warnings] };
}

function checked(name: string, value: string | undefined): string {
  const kind = checkKnown(name);
  if (kind === "switch" || kind === "boolean") {
    const truth = value === undefined ? "true" : asBoolean(value);
    // tritonserver's text.
    if (truth === undefined) throw new UsageError(`--${name}: invalid value for bool option: ${value ?? ""}`);
    return truth;
  }
  if (value === undefined || (value === "" && kind !== "text")) {
    throw new UsageError(`--${name} needs a value`);
  }
  if (kind === "text" || kind === "filled") return value;
  if (kind === "level") {
    const truth = asBoolean(value);
    if (truth !== undefined) return truth === "true" ? "1" : "0";
  }
  if (kind === "count" || kind === "level" || kind === "port") {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (Number.isNaN(number) || (kind === "port" && number > 65_535)) {
      throw new UsageError(
        `--${name} must be ${kind === "port" ? "a port" : "a whole number"}, but it is '${value}'`,
      );
    }
    return String(number);
  }
  const word = kind.find((one) => one.toLowerCase() === value.toLowerCase());
  if (word === undefined) {
    throw new UsageError(`--${name} must be one of ${kind.join(", ")}, but it is '${value}'`);
  }
  return word;
}

function checkKnown(name: string): Flag["kind"] {
  const kind = kindOf(name);
  if (kind !== undefined) return kind;
  throw unknownOption(`--${name}`, name);
}

function unknownOption(given: string, name: string): UsageError {
  const near = nearestName(name, FLAG_NAMES);
  return new UsageError(
    `unknown option '${given}'${near === undefined ? "" : `; did you mean '--${near}'?`}`,
  );
}

function kindOf(name: string): Flag["kind"] | undefined {
  return ownValue(FLAGS, ownValue(FLAG_ALIASES, name) ?? name)?.kind;
}

function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
