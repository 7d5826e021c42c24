import type { SequenceFlags } from "./messages.ts";

/** Whether the flags name a sequence: 0 and "" are no id. */
export function hasSequenceId(sequence: SequenceFlags | undefined): boolean {
  return sequence !== undefined && sequence.id !== 0n && sequence.id !== "";
}

/** `undefined` where the flags say nothing at all, which is how a request without a sequence goes on. */
export function sequenceOrNone(flags: SequenceFlags): SequenceFlags | undefined {
  return flags.start || flags.end || hasSequenceId(flags) ? flags : undefined;
}
