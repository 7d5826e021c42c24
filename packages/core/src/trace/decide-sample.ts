/** What one setting has seen and may still pick out. */
export interface SampleState {
  /** Requests that came while it picked. */
  readonly seen: number;
  /** Triton's `trace_count`: how many more; -1: any number. */
  readonly remaining: number;
}

export interface SampleRule {
  /** One of so many is picked; 0: none but those that must be. */
  readonly rate: number;
  /** The request comes with a trace of its client's, which always goes on here. */
  readonly isForced: boolean;
}

export interface SampleDecision {
  readonly isTraced: boolean;
  readonly state: SampleState;
}

/**
 * Whether a request is traced, as Triton decides it: each of the `rate`th requests, while there are traces left. A setting
 * that has none left counts only those that must be traced.
 */
export function decideSample(state: SampleState, { rate, isForced }: SampleRule): SampleDecision {
  if (rate === 0 || (state.remaining === 0 && !isForced)) return { isTraced: isForced, state };
  const seen = state.seen + 1;
  const isTurn = seen % rate === 0 && state.remaining !== 0;
  const remaining = isTurn && state.remaining > 0 ? state.remaining - 1 : state.remaining;
  return { isTraced: isTurn || isForced, state: { seen, remaining } };
}
