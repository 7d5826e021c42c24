import type { Clock } from "@naiad/core";
import type { Histogram } from "hdr-histogram-js";
// Not the package's main file, which brings its encodings with it.
import { constructorFromBucketSize } from "hdr-histogram-js/dist/JsHistogramFactory.js";
import type { Completion } from "./load.ts";

/** What was answered between two moments. */
export interface MeasuredWindow {
  readonly durationNs: number;
  readonly requests: number;
  /** That were sent in it. */
  readonly sent: number;
  /** That ended in it. */
  readonly sequences: number;
  /** More than requests for a decoupled model. */
  readonly responses: number;
  readonly latency: Latencies;
  /** Means; absent where the target does not tell them. */
  readonly phases: { readonly sendNs: number; readonly receiveNs: number } | undefined;
  /** Requests that were sent more than a millisecond after they were due. */
  readonly delayed: number;
  /** Start and end of each request, where they are kept. */
  readonly moments: readonly RequestMoments[];
}

export interface RequestMoments {
  readonly startNs: number;
  /** When each response came. */
  readonly responsesNs: readonly number[];
  readonly sequenceId?: string;
}

export interface Latencies {
  readonly meanNs: number;
  readonly stdDevNs: number;
  /** `percent` from 0 to 100; three digits are exact. 0 where there is no request. */
  atPercentile(percent: number): number;
}

const DELAY_LIMIT_NS = 1e6;
const DIGITS = 3;
/** What a histogram holds from the start: a minute. It grows where it must. */
const HIGHEST_NS = 60e9;

/** The sums of a window, to which those of others can be added. */
interface Sums {
  requests: number;
  sent: number;
  sequences: number;
  responses: number;
  delayed: number;
  timed: number;
  sendNs: number;
  receiveNs: number;
  /** Of latencies and of their squares, in microseconds: the squares of nanoseconds lose their last digits. */
  totalUs: number;
  squaresUs: number;
  readonly histogram: Histogram;
  readonly moments: RequestMoments[];
}

export interface OpenWindow {
  record(completion: Completion): void;
  recordSend(): void;
  readonly requests: number;
  /** The window from its beginning until now. */
  close(): ClosedWindow;
}

export interface ClosedWindow extends MeasuredWindow {
  readonly startNs: number;
  readonly sums: Readonly<Sums>;
}

export function openWindow(
  clock: Pick<Clock, "nowNs">,
  options: { readonly keepMoments: boolean },
): OpenWindow {
  const startNs = clock.nowNs();
  const sums = emptySums();
  return {
    get requests() {
      return sums.requests;
    },
    recordSend: () => {
      sums.sent += 1;
    },
    record: ({ startNs: sentNs, endNs, responses, responsesNs, sendNs, sequence, receiveNs, delayNs }) => {
      const latencyNs = Math.max(endNs - sentNs, 0);
      sums.requests += 1;
      sums.responses += responses;
      sums.totalUs += latencyNs / 1e3;
      sums.squaresUs += (latencyNs / 1e3) ** 2;
      sums.histogram.recordValue(Math.round(latencyNs));
      if (delayNs > DELAY_LIMIT_NS) sums.delayed += 1;
      if (sequence?.end === true) sums.sequences += 1;
      if (sendNs !== undefined && receiveNs !== undefined) {
        sums.timed += 1;
        sums.sendNs += sendNs;
        sums.receiveNs += receiveNs;
      }
      if (options.keepMoments) {
        sums.moments.push({
          startNs: sentNs,
          responsesNs,
          ...(sequence !== undefined && { sequenceId: String(sequence.id) }),
        });
      }
    },
    close: () => ({ ...summary(sums, clock.nowNs() - startNs), startNs, sums }),
  };
}

/** The requests of all of them, in one window as long as they are together. */
export function mergeWindows(windows: readonly ClosedWindow[]): MeasuredWindow {
  const merged = emptySums();
  for (const { sums } of windows) {
    merged.requests += sums.requests;
    merged.sent += sums.sent;
    merged.sequences += sums.sequences;
    merged.responses += sums.responses;
    merged.delayed += sums.delayed;
    merged.timed += sums.timed;
    merged.sendNs += sums.sendNs;
    merged.receiveNs += sums.receiveNs;
    merged.totalUs += sums.totalUs;
    merged.squaresUs += sums.squaresUs;
    merged.histogram.add(sums.histogram);
    for (const moments of sums.moments) merged.moments.push(moments);
  }
  return summary(
    merged,
    windows.reduce((sum, { durationNs }) => sum + durationNs, 0),
  );
}

function emptySums(): Sums {
  const Int32Histogram = constructorFromBucketSize(32);
  const histogram: Histogram = new Int32Histogram(1, HIGHEST_NS, DIGITS);
  histogram.autoResize = true;
  return {
    requests: 0,
    sent: 0,
    sequences: 0,
    responses: 0,
    delayed: 0,
    timed: 0,
    sendNs: 0,
    receiveNs: 0,
    totalUs: 0,
    squaresUs: 0,
    histogram,
    moments: [],
  };
}

function summary(sums: Readonly<Sums>, durationNs: number): MeasuredWindow {
  const { requests, timed, histogram } = sums;
  const meanUs = requests === 0 ? 0 : sums.totalUs / requests;
  // Of the whole, as perf_analyzer has it; rounding must not make it negative.
  const varianceUs = requests === 0 ? 0 : Math.max(sums.squaresUs / requests - meanUs ** 2, 0);
  return {
    durationNs,
    requests,
    sent: sums.sent,
    sequences: sums.sequences,
    responses: sums.responses,
    delayed: sums.delayed,
    phases: timed === 0 ? undefined : { sendNs: sums.sendNs / timed, receiveNs: sums.receiveNs / timed },
    latency: {
      meanNs: meanUs * 1e3,
      stdDevNs: Math.sqrt(varianceUs) * 1e3,
      atPercentile: (percent) => (requests === 0 ? 0 : histogram.getValueAtPercentile(percent)),
    },
    moments: sums.moments,
  };
}
