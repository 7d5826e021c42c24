import type { Logger } from "@naiad/core";
import { LEFT_OPEN_MS } from "./response-inlets.ts";

/** Tells of a request that was left open, once for a worker: a model that does so does so with each request. */
export function openRequestWarning({
  label,
  logger,
}: {
  readonly label: string;
  readonly logger: Logger;
}): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    logger.log(
      "warning",
      `instance worker ${label}: its decoupled model has not ended a request that was cancelled ` +
        `${LEFT_OPEN_MS / 1000} s ago, and an unload waits for that. It must send the final flag after a cancel, too`,
    );
  };
}
