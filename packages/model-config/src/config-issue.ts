import type { StatusCode } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

/** One thing that is wrong with a configuration. */
export interface ConfigIssue {
  readonly code: StatusCode;
  /** Triton's text. */
  readonly message: string;
  /** The field in the names of the proto file: `input[0].dims`; empty for the configuration as a whole. */
  readonly path: string;
  /** What to write instead, where that is known. */
  readonly hint?: string;
}

export function invalid(path: string, message: string, hint?: string): ConfigIssue {
  return { code: "INVALID_ARG", message, path, ...(hint !== undefined && { hint }) };
}

/** Triton stops at the first issue: throws it as an InferenceError, if there is one. */
export function assertNoIssues(issues: readonly ConfigIssue[]): void {
  const [first] = issues;
  if (first !== undefined) throw new InferenceError(first.code, first.message);
}
