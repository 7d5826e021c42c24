import type { Sequence } from "./sequence.ts";

/** Sequences in a slot of which nothing is queued or executed. */
export interface IdleSequences {
  /** When the first of them has been idle for too long; Infinity: none. */
  readonly nextNs: number;
  add(sequence: Sequence, nowNs: number): void;
  delete(sequence: Sequence): void;
  /** Those that have been idle for too long, and are not among these any more. */
  expire(nowNs: number): readonly Sequence[];
}

export function createIdleSequences(maxIdleNs: number): IdleSequences {
  /** Since when, the longest idle first. */
  const sinceNs = new Map<Sequence, number>();
  return {
    get nextNs() {
      for (const since of sinceNs.values()) return since + maxIdleNs;
      return Infinity;
    },
    add: (sequence, nowNs) => {
      sinceNs.set(sequence, nowNs);
    },
    delete: (sequence) => {
      sinceNs.delete(sequence);
    },
    expire: (nowNs) => {
      const expired: Sequence[] = [];
      for (const [sequence, since] of sinceNs) {
        if (since + maxIdleNs > nowNs) break;
        sinceNs.delete(sequence);
        expired.push(sequence);
      }
      return expired;
    },
  };
}
