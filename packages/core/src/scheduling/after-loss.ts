import { InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { LossResult } from "../ports.ts";

import type { QueuedRequest } from "./queued-request.ts";

/** One execution that is to be, with its past. */
export interface Work {
  readonly requests: readonly QueuedRequest[];
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

/**
 * What becomes of the requests of a lost execution. When it was to blame itself, each request is tried once more, alone,
 * so that one bad request does not take its neighbours along; requests of a sequence are not, because running them twice
 * may change the answer. When it only stood in line, it is tried again as it was.
 */
export function planAfterLoss(
  work: Work,
  loss: LossResult,
  instance: { model: string; name: string },
): LossPlan {
  const requests = work.requests.filter((request) => !request.answered);
  const lost = `instance '${instance.name}' of model '${instance.model}' was lost`;
  const failAll = (code: "INTERNAL" | "UNAVAILABLE", text: string): LossPlan => ({
    retries: [],
    failures: requests.map((request) => failure(request, code, text)),
  });

  if (!loss.culprit) {
    if (work.strayLosses >= MAX_STRAY_LOSSES) {
      return failAll(
        "UNAVAILABLE",
        `${lost} before it could execute the request, ${work.strayLosses + 1} times in a row: ${loss.reason}`,
      );
    }
    return { retries: [{ ...work, requests, strayLosses: work.strayLosses + 1 }], failures: [] };
  }
  if (work.ownLosses > 0) {
    return failAll(
      "INTERNAL",
      `${lost} while it executed the request, also when the request was retried alone: ${loss.reason}`,
    );
  }
  const isPure = ({ scheduled }: QueuedRequest): boolean => scheduled.request.sequence === undefined;
  return {
    retries: requests
      .filter(isPure)
      .map((request) => ({ requests: [request], ownLosses: 1, strayLosses: work.strayLosses })),
    failures: requests
      .filter((request) => !isPure(request))
      .map((request) =>
        failure(
          request,
          "UNAVAILABLE",
          `${lost} while it executed the request, which is not retried because it belongs to a sequence: ${loss.reason}`,
        ),
      ),
  };
}

function failure(
  request: QueuedRequest,
  code: "INTERNAL" | "UNAVAILABLE",
  text: string,
): LossPlan["failures"][number] {
  return { request, error: new InferenceError(code, requestIdPrefix(request.scheduled.request.id) + text) };
}
