/** Triton's status codes other than success. */
export type StatusCode =
  | "UNKNOWN"
  | "INTERNAL"
  | "NOT_FOUND"
  | "INVALID_ARG"
  | "UNAVAILABLE"
  | "UNSUPPORTED"
  | "ALREADY_EXISTS"
  | "CANCELLED";

const CODES: Readonly<Record<StatusCode, { readonly name: string; readonly http: number }>> = {
  UNKNOWN: { name: "Unknown", http: 400 },
  INTERNAL: { name: "Internal", http: 500 },
  NOT_FOUND: { name: "Not found", http: 404 },
  INVALID_ARG: { name: "Invalid argument", http: 400 },
  UNAVAILABLE: { name: "Unavailable", http: 503 },
  UNSUPPORTED: { name: "Unsupported", http: 501 },
  ALREADY_EXISTS: { name: "Already exists", http: 400 },
  CANCELLED: { name: "Cancelled", http: 400 },
};

/** The code as Triton writes it inside texts, for example `Invalid argument`. */
export function statusName(code: StatusCode): string {
  return CODES[code].name;
}

/** The HTTP status that Triton's frontend answers for a code. */
export function httpStatusOf(code: StatusCode): number {
  return CODES[code].http;
}

/** An error as it crosses contexts: structured clone drops an error's class and own fields. */
export interface WireError {
  readonly code: StatusCode;
  readonly message: string;
  readonly retryAfterSecs?: number | undefined;
}

function isStatusCode(value: unknown): value is StatusCode {
  return typeof value === "string" && Object.hasOwn(CODES, value);
}

export interface InferenceErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterSecs?: number | undefined;
}

/**
 * Everything that can go wrong for a user of the server. `message` is Triton's text where Triton has one.
 * Mistakes of this project's own programmers are plain `Error`s (see `invariant`).
 */
export class InferenceError extends Error {
  override readonly name = "InferenceError";
  readonly code: StatusCode;
  /** After this time, not sooner, the same request may succeed. What HTTP calls `Retry-After`, not rounded. */
  readonly retryAfterSecs: number | undefined;

  constructor(code: StatusCode, message: string, options: InferenceErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryAfterSecs = options.retryAfterSecs;
  }

  /** For borders only: whatever was thrown, as an `InferenceError` (code INTERNAL unless it carries one). */
  static from(thrown: unknown): InferenceError {
    if (thrown instanceof InferenceError) return thrown;
    if (typeof thrown === "object" && thrown !== null && "code" in thrown && "message" in thrown) {
      const { code, message } = thrown;
      const retryAfterSecs =
        "retryAfterSecs" in thrown && typeof thrown.retryAfterSecs === "number"
          ? thrown.retryAfterSecs
          : undefined;
      if (isStatusCode(code)) {
        return new InferenceError(code, String(message), { cause: thrown, retryAfterSecs });
      }
    }
    if (isAbort(thrown)) return new InferenceError("CANCELLED", "request was cancelled", { cause: thrown });
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new InferenceError("INTERNAL", message, { cause: thrown });
  }

  toWire(): WireError {
    const { code, message, retryAfterSecs } = this;
    return { code, message, ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }) };
  }
}

function isAbort(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "name" in thrown && thrown.name === "AbortError";
}

/** Guards what only a mistake in this project can break. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant: ${message}`);
}

/** Closes an exhaustive switch. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
