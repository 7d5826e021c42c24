import type { Logger } from "../ports.ts";
import { cancelled, schedulerStopped } from "../scheduling/accepted-requests.ts";
import { deliver, deliverResponse } from "../scheduling/deliver.ts";
import type { RequestOutcome, ScheduledRequest, Scheduler } from "../scheduling/scheduler.ts";
import type { ModelStatisticsRecorder } from "../statistics/model-statistics.ts";
import type { EnsembleResult, EnsembleRunContext } from "./ensemble-run.ts";
import { runEnsemble } from "./ensemble-run.ts";
import type { StepSlots } from "./step-slots.ts";
import { createStepSlots } from "./step-slots.ts";

export interface EnsembleSchedulerOptions extends Omit<EnsembleRunContext, "slots"> {
  readonly modelName: string;
  readonly statistics: ModelStatisticsRecorder;
  readonly logger: Logger;
}

/**
 * Answers requests with those of other models. It has no queue: what can be done for a request is handed at once to the
 * schedulers of the models, where requests meet and are batched. A cancelled request is answered when its models have
 * given it up, which is at once.
 */
export class EnsembleScheduler implements Scheduler {
  readonly #options: EnsembleSchedulerOptions;
  readonly #slots: StepSlots;
  readonly #whenDrained: (() => void)[] = [];
  #inflightCount = 0;
  #stopped = false;

  constructor(options: EnsembleSchedulerOptions) {
    this.#options = options;
    this.#slots = createStepSlots({ ...options, ...options.plan });
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  enqueue(scheduled: ScheduledRequest): void {
    const { request, signal } = scheduled;
    if (this.#stopped) throw schedulerStopped(request.id);
    if (signal.aborted) throw cancelled(request.id);
    this.#inflightCount += 1;
    scheduled.trace?.queued(scheduled.startNs, request.inputs);
    let isEnqueuing = true;
    const counted = this.#counted(scheduled);
    runEnsemble(counted, { ...this.#options, slots: this.#slots }, (result) => {
      const finish = (): void => {
        this.#finish(counted, result);
      };
      if (isEnqueuing) void Promise.resolve().then(finish);
      else finish();
    });
    isEnqueuing = false;
  }

  stop(): Promise<void> {
    this.#stopped = true;
    if (this.#inflightCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenDrained.push(resolve);
    });
  }

  #counted(scheduled: ScheduledRequest): CountedRequest {
    const { onResponse, startNs } = scheduled;
    if (onResponse === undefined) return { ...scheduled, responseCount: () => 0 };
    const { statistics, clock } = this.#options;
    let count = 0;
    return {
      ...scheduled,
      onResponse: (response) => {
        if (count === 0) statistics.firstResponse(clock.nowNs() - startNs);
        count += 1;
        return deliverResponse(response, scheduled, this.#options);
      },
      responseCount: () => count,
    };
  }

  #finish(scheduled: CountedRequest, result: EnsembleResult): void {
    deliver(this.#outcomeOf(scheduled, result), scheduled, this.#options);
    this.#inflightCount -= 1;
    if (this.#inflightCount === 0) for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  #outcomeOf({ request, startNs, responseCount }: CountedRequest, result: EnsembleResult): RequestOutcome {
    const { statistics, clock } = this.#options;
    const durationNs = clock.nowNs() - startNs;
    const responses = responseCount();
    if (result.kind === "error") {
      statistics.failed({ reason: "OTHER", durationNs, responses });
      return { kind: "error", error: result.error, reason: "OTHER" };
    }
    const { answer } = result;
    const times = { queueNs: 0, ...result.times };
    const rows = Math.max(1, request.batchSize);
    statistics.executed({ rows, times });
    statistics.succeeded({ rows, durationNs, times, responses });
    if (answer === undefined) return { kind: "end", times };
    return { kind: "response", ...answer, times, executedBatchSize: rows };
  }
}

interface CountedRequest extends ScheduledRequest {
  /** How many `onResponse` has had. */
  readonly responseCount: () => number;
}
