type SequenceId = string | bigint;

/** The last sequences that ended without their clients' doing, and why. */
export interface RecentEndings {
  add(id: SequenceId, reason: string): void;
  reasonOf(id: SequenceId): string | undefined;
  /** The id is in use again. */
  forget(id: SequenceId): void;
}

const MAX_ENDINGS = 1000;

export function createRecentEndings(): RecentEndings {
  /** The oldest first. */
  const reasons = new Map<SequenceId, string>();
  return {
    add: (id, reason) => {
      reasons.delete(id);
      reasons.set(id, reason);
      if (reasons.size <= MAX_ENDINGS) return;
      for (const oldest of reasons.keys()) {
        reasons.delete(oldest);
        return;
      }
    },
    reasonOf: (id) => reasons.get(id),
    forget: (id) => {
      reasons.delete(id);
    },
  };
}
