import { InferenceError } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import type { Clock } from "../ports.ts";
import type { RequestOutcome, StreamedResponse, ValidRequest } from "../scheduling/scheduler.ts";
import type { RequestTrace } from "../trace/request-trace.ts";
import type { EnsembleEvent, IssuedStep } from "./ensemble-state.ts";
import type { ModelResponse, StepTarget } from "./step-request.ts";
import { stepRequest, stepResponse } from "./step-request.ts";

export interface StepContext {
  /** Of the ensemble. */
  readonly request: ValidRequest;
  readonly signal: AbortSignal;
  /** Of the ensemble's request. */
  readonly trace: RequestTrace | undefined;
  readonly clock: Clock;
  /** Asked once; where it throws the step fails. */
  readonly target: () => StepTarget & { readonly model: ServingVersion };
}

/** Who is told what becomes of a step. */
export interface StepListener {
  /** Of a decoupled step, which goes on. */
  readonly onEvent: (event: EnsembleEvent) => void;
  /** Until there is room for another response of a decoupled model. */
  readonly room: () => Promise<void>;
  /** The model has not failed: told before `onEnd`, which may still tell of an error. */
  readonly onSuccess: (outcome: Exclude<RequestOutcome, { readonly kind: "error" }>) => void;
  /** Exactly once and last, maybe before `issueStep` returns. */
  readonly onEnd: (event: EnsembleEvent) => void;
}

/** Hands the request of a step to the scheduler of its model. */
export function issueStep(
  issued: IssuedStep,
  { request, signal, trace: parent, clock, target }: StepContext,
  { onEvent, room, onSuccess, onEnd }: StepListener,
): void {
  const { decoupled } = issued.step;
  let trace: RequestTrace | undefined;
  const fail = (thrown: unknown): void => {
    onEnd({ kind: "failed", issued, error: InferenceError.from(thrown) });
  };
  try {
    const { model, keepOnDevice } = target();
    const inner = stepRequest(issued, request, { model, keepOnDevice });
    const eventOf = (response: ModelResponse): EnsembleEvent => ({
      kind: "response",
      issued,
      response: stepResponse(response, issued, { batchSize: inner.batchSize, model }),
    });
    const onResponse = async (response: StreamedResponse): Promise<void> => {
      onEvent(
        response.kind === "error"
          ? { kind: "fault", error: response.error }
          : orFault(() => eventOf(response)),
      );
      await room();
    };
    const respond = (outcome: RequestOutcome): void => {
      if (outcome.kind === "error") {
        fail(outcome.error);
        return;
      }
      onSuccess(outcome);
      if (outcome.kind === "end") {
        onEnd({ kind: "end", issued });
        return;
      }
      try {
        const event = eventOf(outcome);
        if (decoupled) {
          onEvent(event);
          onEnd({ kind: "end", issued });
        } else onEnd(event);
      } catch (thrown) {
        fail(thrown);
      }
    };
    const startNs = clock.nowNs();
    const { modelName, version, scheduler } = model;
    trace = parent?.child().begin({ modelName, version, requestId: inner.id }, startNs);
    scheduler.enqueue({
      request: inner,
      signal,
      startNs,
      trace,
      ...(decoupled && { onResponse }),
      respond,
    });
  } catch (thrown) {
    trace?.finish();
    fail(thrown);
  }
}

function orFault(take: () => EnsembleEvent): EnsembleEvent {
  try {
    return take();
  } catch (thrown) {
    return { kind: "fault", error: InferenceError.from(thrown) };
  }
}
