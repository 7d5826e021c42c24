import type { Trace } from "@naiad/protocol";

/** What a model's execution leaves in a trace, in this order. */
export const EXECUTED_ACTIVITIES: readonly string[] = [
  "REQUEST_START",
  "QUEUE_START",
  "COMPUTE_START",
  "COMPUTE_INPUT_END",
  "COMPUTE_OUTPUT_START",
  "COMPUTE_END",
];

/** The same of a client's request. */
export const ANSWERED_ACTIVITIES: readonly string[] = [
  ...EXECUTED_ACTIVITIES,
  "INFER_RESPONSE_COMPLETE",
  "REQUEST_END",
];

/** Names of what happened, trace by trace. */
export function activityNames(traces: readonly Trace[]): readonly (readonly string[])[] {
  return traces.map(({ activities }) => activities.map(({ name }) => name));
}
