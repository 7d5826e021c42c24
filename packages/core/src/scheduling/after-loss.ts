import { hasSequenceId, InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { LossResult } from "../ports.ts";

import type { QueuedRequest } from "./queued-request.ts";
import type { BatchEntry } from "./work-source.ts";

/** One execution that is to be, with its past. */
export interface Work {
  readonly entries: readonly BatchEntry[];
  /** Instances lost while they executed these requests. */
  readonly ownLosses: number;
  /** Instances lost for another reason before these requests had their turn. */
  readonly strayLosses: number;
}

/** Losses for which a request is not to blame are endless only when nothing works at all. */
const MAX_STRAY_LOSSES = 5;

export interface LossPlan {
  readonly retries: readonly Work[];
  readonly failures: readonly { readonly request: QueuedRequest; readonly error: InferenceError }[];
}

export interface LostInstance {
  readonly model: string;
  readonly name: string;
  /** See `Backend.keepsState`. */
  readonly keepsState: boolean;
  /** Whether responses of this execution have gone out already: a repetition would give them twice. */
  readonly hasAnswered: (entry: BatchEntry) => boolean;
}

/**
 * What becomes of the requests of a lost execution. When it was to blame itself, each request is tried once more, alone,
 * so that one bad request does not take its neighbours along. When it only stood in line, it is tried again as it was,
 * without the rows that only filled places. All that a request is executed with comes along with it, also the state of
 * its sequence. An instance that remembers something itself executes code that may do more than answer: what it was lost with
 * is not repeated, nor are requests of the sequences that it remembered.
 */
export function planAfterLoss(work: Work, loss: LossResult, instance: LostInstance): LossPlan {
  const lost = `instance '${instance.name}' of model '${instance.model}' was lost`;
  const failures: LossPlan["failures"][number][] = [];
  const rest: BatchEntry[] = [];
  for (const entry of work.entries) {
    const { request } = entry;
    if (request === undefined || request.answered) continue;
    if (instance.hasAnswered(entry)) {
      failures.push(failure(request, "UNAVAILABLE", `${lost} before the request had ended: ${loss.reason}`));
      continue;
    }
    const isPure = !instance.keepsState || !hasSequenceId(request.scheduled.request.sequence);
    if (isPure) rest.push(entry);
    else
      failures.push(
        failure(request, "UNAVAILABLE", `${lost} with the state of the sequence: ${loss.reason}`),
      );
  }

  const failRest = (code: "INTERNAL" | "UNAVAILABLE", text: string): LossPlan => ({
    retries: [],
    failures: [
      ...failures,
      ...rest.flatMap(({ request }) => (request === undefined ? [] : [failure(request, code, text)])),
    ],
  });
  if (rest.length === 0) return { retries: [], failures };

  if (!loss.culprit) {
    if (work.strayLosses >= MAX_STRAY_LOSSES) {
      return failRest(
        "UNAVAILABLE",
        `${lost} before it could execute the request, ${work.strayLosses + 1} times in a row: ${loss.reason}`,
      );
    }
    return { retries: [{ ...work, entries: rest, strayLosses: work.strayLosses + 1 }], failures };
  }
  if (instance.keepsState)
    return failRest("INTERNAL", `${lost} while it executed the request: ${loss.reason}`);
  if (work.ownLosses > 0) {
    return failRest(
      "INTERNAL",
      `${lost} while it executed the request, also when the request was retried alone: ${loss.reason}`,
    );
  }
  return {
    retries: rest.map((entry) => ({ entries: [entry], ownLosses: 1, strayLosses: work.strayLosses })),
    failures,
  };
}

function failure(
  request: QueuedRequest,
  code: "INTERNAL" | "UNAVAILABLE",
  text: string,
): LossPlan["failures"][number] {
  return { request, error: new InferenceError(code, requestIdPrefix(request.scheduled.request.id) + text) };
}
