import type { Clock } from "@naiad/core";
import type { Channel } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { InstanceContract } from "../contracts.ts";

/** How long a model may think about whether it is ready. */
const LIMIT_MS = 5_000;

export interface ReadinessQuestion {
  readonly instanceId: string;
  readonly channel: Channel<InstanceContract>;
  readonly clock: Clock;
  /** For texts: the worker. */
  readonly label: string;
  /** The question is all that the worker has to do: whoever else has work there holds it up, too, under the watchdog's eye. */
  readonly isAlone: boolean;
  /** The question has stopped the event loop of a worker that had nothing else to do. */
  readonly onStuck: (reason: string) => void;
}

/** Rejects with the model's reason where it is not ready, and with UNAVAILABLE where it does not say so in time. */
export async function askReadiness(question: ReadinessQuestion): Promise<void> {
  const { channel, clock, instanceId, label } = question;
  let isStuck = question.isAlone;
  const late = new AbortController();
  const cancel = clock.after(LIMIT_MS * 1e6, () => {
    if (isStuck) question.onStuck(`isReady() did not end within ${LIMIT_MS} ms`);
    else late.abort();
  });
  try {
    const answer = channel.call("checkReady", { instanceId }, { signal: late.signal });
    // Nobody's, so answered at once, unless the first question has stopped the worker's event loop.
    const probe = channel.call("checkReady", { instanceId: "" }, { signal: late.signal });
    void probe.then(
      () => {
        isStuck = false;
      },
      () => undefined,
    );
    await answer;
  } catch (thrown) {
    if (!late.signal.aborted) throw thrown;
    throw new InferenceError(
      "UNAVAILABLE",
      `instance worker ${label} did not say within ${LIMIT_MS} ms whether its model is ready`,
    );
  } finally {
    cancel();
  }
}
