import type { Logger } from "../ports.ts";
import type { RequestOutcome, ScheduledRequest, StreamedResponse } from "./scheduler.ts";

/** Answers a request. A receiver that throws is told to the log: it must not bring the requests beside it into trouble. */
export function deliver(
  outcome: RequestOutcome,
  { respond }: ScheduledRequest,
  { modelName, logger }: { readonly modelName: string; readonly logger: Logger },
): void {
  try {
    respond(outcome);
  } catch (thrown) {
    logger.log("error", `model '${modelName}': a response could not be delivered: ${String(thrown)}`);
  }
}

/** Gives a receiver one of several responses. Resolves when it has room for another, and also where it fails. */
export async function deliverResponse(
  response: StreamedResponse,
  { onResponse }: ScheduledRequest,
  { modelName, logger }: { readonly modelName: string; readonly logger: Logger },
): Promise<void> {
  try {
    await onResponse?.(response);
  } catch (thrown) {
    logger.log("error", `model '${modelName}': a response could not be delivered: ${String(thrown)}`);
  }
}
