import type { ComparedAnswers } from "./oracle-suite.ts";

/** Why an answer may be another than the recorded one, or `undefined` where nobody has said so. */
export function differenceReason(_compared: ComparedAnswers): string | undefined {
  return undefined;
}
