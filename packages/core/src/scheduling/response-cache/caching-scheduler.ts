import type { BytesTensor, Tensor } from "@naiad/protocol";
import type { Clock, Logger } from "../../ports.ts";
import type { ModelStatisticsRecorder } from "../../statistics/model-statistics.ts";
import { cancelled } from "../accepted-requests.ts";
import { deliver } from "../deliver.ts";
import { OrderedAnswers } from "../ordered-answers.ts";
import type { RequestOutcome, ScheduledRequest, Scheduler } from "../scheduler.ts";
import { requestKey } from "./request-key.ts";
import type { CachedResponse, CachePartition, Insertion } from "./response-cache.ts";

export interface CachingSchedulerOptions {
  readonly modelName: string;
  /** Gets the requests whose answer is not known. */
  readonly scheduler: Scheduler;
  /** Closed when this scheduler has stopped. */
  readonly partition: CachePartition;
  /** Whether an answer that is known waits for those of the requests before it. */
  readonly preserveOrdering: boolean;
  readonly statistics: ModelStatisticsRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A request that was looked up in vain. */
interface Miss {
  readonly key: string;
  readonly lookupNs: number;
}

/**
 * Triton's response cache: asked before a request is queued, given the answer after it was executed. Equal requests at the
 * same time are each executed; the first to be answered is kept and counts as a miss.
 */
export class CachingScheduler implements Scheduler {
  readonly #options: CachingSchedulerOptions;
  readonly #ordered: OrderedAnswers<ScheduledRequest> | undefined;
  readonly #whenDrained: (() => void)[] = [];
  /** Answers that are known and not yet given. */
  #knownCount = 0;
  #stopped = false;
  #refusalTold = false;

  constructor(options: CachingSchedulerOptions) {
    this.#options = options;
    this.#ordered = options.preserveOrdering ? new OrderedAnswers() : undefined;
  }

  get inflightCount(): number {
    return this.#options.scheduler.inflightCount + this.#knownCount;
  }

  enqueue(scheduled: ScheduledRequest): void {
    const { scheduler, partition, clock } = this.#options;
    if (this.#stopped || scheduled.signal.aborted) {
      // It knows the words of the refusal.
      scheduler.enqueue(scheduled);
      return;
    }
    const startNs = clock.nowNs();
    const key = requestKey(scheduled.request);
    if (key === undefined) {
      this.#execute(scheduled);
      return;
    }
    const known = partition.lookup(key);
    const lookupNs = clock.nowNs() - startNs;
    if (known === undefined) this.#execute(scheduled, { key, lookupNs });
    else {
      scheduled.trace?.queued(startNs, scheduled.request.inputs);
      this.#answer(scheduled, known, lookupNs);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.#options.scheduler.stop(), this.#drained()]);
    this.#options.partition.close();
  }

  #execute(scheduled: ScheduledRequest, miss?: Miss): void {
    this.#options.scheduler.enqueue({
      ...scheduled,
      respond: (outcome) => {
        // Before it is delivered: from then on its buffers are somebody else's.
        if (miss !== undefined && outcome.kind === "response") this.#keep(miss, outcome);
        try {
          scheduled.respond(outcome);
        } finally {
          this.#ordered?.giveUp(scheduled);
        }
      },
    });
    this.#ordered?.expect(scheduled);
  }

  #keep(
    { key, lookupNs }: Miss,
    { outputs, parameters }: Extract<RequestOutcome, { kind: "response" }>,
  ): void {
    const { partition, clock, statistics } = this.#options;
    const startNs = clock.nowNs();
    const insertion: Insertion = outputs.every(isInMemory)
      ? partition.insert(key, { outputs, parameters })
      : { kind: "refused", reason: "an output lies on a device" };
    if (insertion.kind === "exists") return;
    statistics.cacheMissed({ lookupNs, insertionNs: clock.nowNs() - startNs });
    if (insertion.kind === "refused") this.#tellRefusal(key, insertion.reason);
  }

  /** Once: what one answer is too large for, the next ones will be too large for. */
  #tellRefusal(key: string, reason: string): void {
    if (this.#refusalTold) return;
    this.#refusalTold = true;
    const { modelName, logger } = this.#options;
    logger.log(
      "warning",
      `model '${modelName}': Failed to insert key [${key}] into response cache: ${reason} (told once)`,
    );
  }

  #answer(scheduled: ScheduledRequest, { outputs, parameters }: CachedResponse, lookupNs: number): void {
    const { clock, statistics } = this.#options;
    const { signal, startNs, request } = scheduled;
    let isAnswered = false;
    const finish = (outcome: Exclude<RequestOutcome, { readonly kind: "end" }>): void => {
      if (isAnswered) return;
      isAnswered = true;
      signal.removeEventListener("abort", onAbort);
      this.#knownCount -= 1;
      const durationNs = clock.nowNs() - startNs;
      if (outcome.kind === "response") statistics.cacheHit({ durationNs, lookupNs });
      else statistics.failed({ reason: outcome.reason, durationNs });
      deliver(outcome, scheduled, this.#options);
      if (this.#knownCount === 0) for (const resolve of this.#whenDrained.splice(0)) resolve();
    };
    const onAbort = (): void => {
      finish({ kind: "error", error: cancelled(request.id), reason: "CANCELED" });
      this.#ordered?.giveUp(scheduled);
    };
    const respond = (): void => {
      finish({ kind: "response", outputs, parameters, times: NOTHING_DONE, executedBatchSize: 0 });
    };

    this.#knownCount += 1;
    this.#ordered?.expect(scheduled);
    signal.addEventListener("abort", onAbort);
    // Nobody is answered from inside `enqueue`.
    void Promise.resolve().then(() => {
      if (this.#ordered === undefined || isAnswered) respond();
      else this.#ordered.settle(scheduled, respond);
    });
  }

  #drained(): Promise<void> {
    if (this.#knownCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenDrained.push(resolve);
    });
  }
}

const NOTHING_DONE = { queueNs: 0, computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };

function isInMemory(tensor: Tensor): tensor is BytesTensor {
  return tensor.kind === "bytes";
}
