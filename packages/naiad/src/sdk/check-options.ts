import type { StartServerOptions } from "./start-options.ts";

/** What a value must be, in words, and whether it is. */
interface Kind {
  readonly text: string;
  readonly holds: (value: unknown) => boolean;
}

const STRING: Kind = { text: "a string", holds: (value) => typeof value === "string" };
const BOOLEAN: Kind = { text: "true or false", holds: (value) => typeof value === "boolean" };
const ANY: Kind = { text: "anything", holds: () => true };
const FUNCTION: Kind = { text: "a function", holds: (value) => typeof value === "function" };
const STRINGS: Kind = {
  text: "a string or a list of strings",
  holds: (value) => STRING.holds(value) || (Array.isArray(value) && value.every((one) => STRING.holds(one))),
};

function integer(least: number): Kind {
  return {
    text: `a whole number of at least ${least}`,
    holds: (value) => Number.isSafeInteger(value) && Number(value) >= least,
  };
}

function oneOf(...words: readonly string[]): Kind {
  return {
    text: `one of ${words.map((word) => `'${word}'`).join(", ")}`,
    holds: (value) => typeof value === "string" && words.includes(value),
  };
}

function record(kinds: Readonly<Record<string, Kind>>): Kind {
  const members = Object.entries(kinds).map(([name, { text }]) => `${name}: ${text}`);
  return {
    text: `an object of { ${members.join(", ")} }`,
    holds: (value) =>
      typeof value === "object" &&
      value !== null &&
      Object.entries(value).every(
        ([name, member]) => member === undefined || kinds[name]?.holds(member) === true,
      ),
  };
}

const LIMIT_MS = integer(0);

/** Every option: a new one does not compile until it stands here. */
const OPTIONS: { readonly [Name in keyof Required<StartServerOptions>]: Kind } = {
  // Its parts are read, and refused, where they are made absolute.
  modelRepository: ANY,
  id: STRING,
  modelControlMode: oneOf("none", "poll", "explicit"),
  loadModels: STRINGS,
  repositoryPollSecs: integer(1),
  strictReadiness: BOOLEAN,
  exitOnError: BOOLEAN,
  disableAutoCompleteConfig: BOOLEAN,
  strictModelConfig: BOOLEAN,
  modelConfigName: {
    text: "the name of a file without a slash",
    holds: (value) => typeof value === "string" && !value.includes("/"),
  },
  modelLoadThreadCount: integer(1),
  modelLoadRetryCount: integer(0),
  exitTimeoutSecs: integer(0),
  logVerbose: integer(0),
  logInfo: BOOLEAN,
  logWarning: BOOLEAN,
  logError: BOOLEAN,
  logFormat: oneOf("default", "ISO8601"),
  defaultMaxBatchSize: integer(0),
  httpMaxInputSize: integer(1),
  httpRestrictedApi: STRINGS,
  httpHeaderForwardPattern: STRING,
  gpuFallback: oneOf("cpu", "error"),
  allowSoftwareGpu: BOOLEAN,
  foldGpus: BOOLEAN,
  threads: integer(0),
  verify: oneOf("auto", "always", "off"),
  limits: record({ createMs: LIMIT_MS, firstRunMs: LIMIT_MS, runMs: LIMIT_MS }),
  base: STRING,
  assets: STRING,
  serviceWorker: { text: "a string or false", holds: (value) => value === false || STRING.holds(value) },
  mode: oneOf("auto", "service-worker", "direct"),
  onEvent: FUNCTION,
  signal: { text: "an AbortSignal", holds: (value) => value instanceof AbortSignal },
};

/**
 * Throws a `TypeError` that names the option for values that no type checker has seen, and for options that do not exist: a
 * misspelt `modelControlMode` must not download every model.
 */
export function checkOptions(options: object): void {
  const kinds = new Map<string, Kind>(Object.entries(OPTIONS));
  for (const [name, value] of Object.entries(options)) {
    const kind = kinds.get(name);
    if (kind === undefined) throw new TypeError(`startServer has no option '${name}'`);
    if (value !== undefined && !kind.holds(value)) {
      throw new TypeError(`startServer's option '${name}' must be ${kind.text}, but it is ${textOf(value)}`);
    }
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return `'${value}'`;
  return typeof value === "object" || typeof value === "number" || typeof value === "boolean"
    ? JSON.stringify(value)
    : typeof value;
}
