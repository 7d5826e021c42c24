import type { Logger } from "../ports.ts";
import type { RequestOutcome, ScheduledRequest, StreamedResponse } from "./scheduler.ts";

/**
 * Answers a request, whose trace ends with that. A receiver that throws is told to the log: it must not bring the requests
 * beside it into trouble.
 */
export function deliver(
  outcome: RequestOutcome,
  { respond, trace }: ScheduledRequest,
  { modelName, logger }: { readonly modelName: string; readonly logger: Logger },
): void {
  // Before the outputs are the receiver's, and before what it does next begins.
  if (outcome.kind !== "end") trace?.responded(outcome.kind === "response" ? outcome.outputs : []);
  trace?.finish();
  try {
    respond(outcome);
  } catch (thrown) {
    logger.log("error", `model '${modelName}': a response could not be delivered: ${String(thrown)}`);
  }
}

/** Gives a receiver one of several responses. Resolves when it has room for another, and also where it fails. */
export async function deliverResponse(
  response: StreamedResponse,
  { onResponse, trace }: ScheduledRequest,
  { modelName, logger }: { readonly modelName: string; readonly logger: Logger },
): Promise<void> {
  trace?.responded(response.kind === "response" ? response.outputs : []);
  try {
    await onResponse?.(response);
  } catch (thrown) {
    logger.log("error", `model '${modelName}': a response could not be delivered: ${String(thrown)}`);
  }
}
