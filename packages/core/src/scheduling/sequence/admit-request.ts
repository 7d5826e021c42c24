import { hasSequenceId, InferenceError, requestIdPrefix } from "@naiad/protocol";
import { schedulerStopped } from "../accepted-requests.ts";
import type { ValidRequest } from "../scheduler.ts";
import type { ControlTensors } from "./control-tensors.ts";

export interface AdmissionContext {
  readonly modelName: string;
  readonly maxBatchSize: number;
  readonly correlationId: ControlTensors["correlationId"];
  readonly isIterative: boolean;
  /** Only running sequences may go on. */
  readonly isStopped: boolean;
  /** Whether a sequence of this id is running or waits for a slot. */
  readonly isKnown: (id: string | bigint) => boolean;
  /** Why a sequence of this id is over, where that was not of the client's doing. */
  readonly endingOf: (id: string | bigint) => string | undefined;
}

/** What a request is within its sequence; one without an id gets one. */
export type Admission =
  { readonly kind: "generated" } | { readonly kind: "start" | "continue"; readonly id: string | bigint };

/** Throws, in Triton's order of checks and with its texts, what the request is refused with. */
export function admitRequest(request: ValidRequest, context: AdmissionContext): Admission {
  const { modelName, maxBatchSize, isStopped, isKnown, endingOf } = context;
  const id = request.sequence?.id ?? 0n;
  const hasId = hasSequenceId(request.sequence);
  if (hasId) checkIdType(request, id, context);

  if (request.batchSize > 1 || (maxBatchSize > 0 && request.batchSize === 0)) {
    throw refusal(
      `inference request to model '${modelName}' must specify batch-size 1 due to requirements of sequence batcher`,
    );
  }
  if (!hasId && !context.isIterative) {
    throw refusal(
      `${requestIdPrefix(request.id)}inference request to model '${modelName}' must specify a non-zero or non-empty ` +
        "correlation ID",
    );
  }
  const starts = !hasId || request.sequence?.start === true;
  if (starts && isStopped) throw schedulerStopped(request.id);
  if (!hasId) return { kind: "generated" };
  if (starts) return { kind: "start", id };
  if (isKnown(id)) return { kind: "continue", id };
  const ending = endingOf(id);
  throw refusal(
    `inference request for sequence ${id} to model '${modelName}' must specify the START flag on the first request of ` +
      `the sequence${ending === undefined ? "" : ` (the sequence of this id ended: ${ending})`}`,
  );
}

function checkIdType(
  { id: requestId }: ValidRequest,
  id: string | bigint,
  { correlationId, modelName }: AdmissionContext,
): void {
  if (correlationId === undefined) return;
  const { name, datatype } = correlationId;
  if ((typeof id === "string") === (datatype === "BYTES")) return;
  throw refusal(
    `${requestIdPrefix(requestId)}sequence batching control '${name}' data-type is ` +
      `'${typeof id === "string" ? "BYTES" : "UINT64"}', but model '${modelName}' expects '${datatype}'`,
  );
}

function refusal(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
