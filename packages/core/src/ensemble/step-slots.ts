import type { CancelTimer, Clock, Logger } from "../ports.ts";

/** After this time a step is issued whatever the limit says: better too much at once than never. As in Triton. */
const PATIENCE_NS = 300e9;

export interface StepSlotsOptions {
  readonly ensembleName: string;
  /** 0: any number. */
  readonly maxInflightRequests: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Waiting {
  readonly enter: () => void;
  readonly cancelTimer: CancelTimer;
}

/** `max_inflight_requests`: how many requests each step of an ensemble has in flight, over all requests of the ensemble. */
export interface StepSlots {
  /**
   * Calls `enter` when the step has room; from then on it takes a place until `leave`. The result gives the wait up, if it
   * goes on; `undefined`: there was room at once.
   */
  enter(stepIndex: number, enter: () => void): (() => void) | undefined;
  leave(stepIndex: number): void;
}

export function createStepSlots(options: StepSlotsOptions): StepSlots {
  const { ensembleName, maxInflightRequests, clock, logger } = options;
  const counts = new Map<number, number>();
  const queues = new Map<number, Waiting[]>();
  if (maxInflightRequests === 0) {
    return {
      enter: (_stepIndex, enter) => {
        enter();
        return undefined;
      },
      leave: () => undefined,
    };
  }

  const countOf = (stepIndex: number): number => counts.get(stepIndex) ?? 0;
  const take = (stepIndex: number, enter: () => void): void => {
    counts.set(stepIndex, countOf(stepIndex) + 1);
    enter();
  };

  return {
    enter: (stepIndex, enter) => {
      if (countOf(stepIndex) < maxInflightRequests) {
        take(stepIndex, enter);
        return undefined;
      }
      const queue = queues.get(stepIndex) ?? [];
      queues.set(stepIndex, queue);
      const leaveQueue = (): boolean => {
        const place = queue.indexOf(waiting);
        if (place >= 0) queue.splice(place, 1);
        return place >= 0;
      };
      const cancelTimer = clock.after(PATIENCE_NS, () => {
        if (!leaveQueue()) return;
        logger.log(
          "error",
          `[Internal Error] Ensemble '${ensembleName}' unable to schedule step ${String(stepIndex)} (inflight: ` +
            `${String(countOf(stepIndex))} >= limit: ${String(maxInflightRequests)}) for ${String(PATIENCE_NS / 1e9)} ` +
            "seconds. Proceeding to avoid deadlock.",
        );
        take(stepIndex, enter);
      });
      const waiting: Waiting = { enter, cancelTimer };
      queue.push(waiting);
      return () => {
        if (leaveQueue()) cancelTimer();
      };
    },
    leave: (stepIndex) => {
      counts.set(stepIndex, countOf(stepIndex) - 1);
      if (countOf(stepIndex) >= maxInflightRequests) return;
      const next = queues.get(stepIndex)?.shift();
      if (next === undefined) return;
      next.cancelTimer();
      take(stepIndex, next.enter);
    },
  };
}
