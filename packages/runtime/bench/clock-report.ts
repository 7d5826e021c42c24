/** What the worker of the clock's benchmark sends to its page, and the page to the benchmark. */
export interface ClockReport {
  readonly isolated: boolean;
  readonly resolutionNs: number;
  readonly series: readonly ClockSeries[];
  /** Of the page, at the end. */
  readonly visibility?: string;
}

export interface ClockSeries {
  readonly delayMs: number;
  readonly clockErrorsMs: readonly number[];
  readonly timeoutErrorsMs: readonly number[];
  readonly loopErrorsMs: readonly number[];
}
