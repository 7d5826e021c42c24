import type { ModelSequenceBatching } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { AcceptedRequests, cancelled, schedulerStopped } from "../accepted-requests.ts";
import type { Alarm } from "../alarm.ts";
import { createAlarm } from "../alarm.ts";
import { shapeKeyOf } from "../batching-config.ts";
import { QueuedRequest } from "../queued-request.ts";
import type { FailureReason, KeptStates, ScheduledRequest, Scheduler } from "../scheduler.ts";
import type { SchedulerOptions } from "../scheduler-options.ts";
import { hostBytes } from "../tensor-bytes.ts";
import type { BatchEntry, CompletedExecution, WorkAnswers, WorkSource } from "../work-source.ts";
import { controlTensors } from "./control-tensors.ts";
import type { IdleSequences } from "./idle-sequences.ts";
import { createIdleSequences } from "./idle-sequences.ts";
import type { InstanceWaits } from "./instance-waits.ts";
import { createInstanceWaits } from "./instance-waits.ts";
import { KnownSequences } from "./known-sequences.ts";
import type { Sequence } from "./sequence.ts";
import type { SequenceConfig } from "./sequence-config.ts";
import { sequenceConfig } from "./sequence-config.ts";
import { SequenceExecutions } from "./sequence-executions.ts";
import { SequencePlaces } from "./sequence-places.ts";
import type { SequenceState } from "./sequence-states.ts";

export interface SequenceBatcherOptions extends SchedulerOptions {
  readonly states: readonly SequenceState[];
}

/**
 * Triton's sequence batcher. Each running sequence has a slot of an instance, or waits in the backlog for one; its
 * requests are executed one after another, each with the control tensors and the state that belong to it. Which sequence
 * gets which slot, what goes into a batch, and what a request is refused with is decided by the functions beside this
 * file.
 *
 * States stay here and go along with every execution, so an execution that was lost is repeated with the same state. Where
 * the backend itself remembers sequences (`keepsState`), a lost instance ends those in its slots.
 */
export class SequenceBatcher implements Scheduler, WorkSource {
  readonly answers: WorkAnswers = {
    complete: (execution) => {
      this.#accepted.complete(this.#executions.answered(execution));
    },
    respond: (request, response) =>
      this.#accepted.respond(request, this.#executions.withoutStates(response, request)),
    end: (request, end) => {
      this.#accepted.end(request, end);
    },
  };
  readonly #options: SequenceBatcherOptions;
  readonly #config: SequenceConfig;
  readonly #accepted: AcceptedRequests;
  readonly #known: KnownSequences;
  readonly #places: SequencePlaces;
  readonly #executions: SequenceExecutions;
  readonly #idle: IdleSequences;
  readonly #waits: InstanceWaits = createInstanceWaits();
  /** For the queue delay, idle sequences and the backlog's deadlines. */
  readonly #alarm: Alarm;
  #isClosed = false;

  constructor(options: SequenceBatcherOptions, batching: ModelSequenceBatching) {
    const { modelName, signature, states, group, clock, logger, statistics } = options;
    this.#options = options;
    this.#config = sequenceConfig(batching, signature);
    const { isIterative, strategy } = this.#config;
    const controls = controlTensors(batching, signature);
    const { correlationId } = controls;
    this.#known = new KnownSequences({ ...options, ...signature, correlationId, isIterative });
    this.#places = new SequencePlaces(this.#config);
    this.#executions = new SequenceExecutions({
      states,
      controls,
      shapeKey: shapeKeyOf(signature),
      isIterative,
    });
    this.#idle = createIdleSequences(this.#config.maxIdleNs);
    this.#alarm = createAlarm(clock, () => {
      this.#wake();
    });
    this.#accepted = new AcceptedRequests({
      modelName,
      clock,
      logger,
      statistics,
      ordering: strategy.kind === "oldest" && strategy.preserveOrdering ? "dispatch" : "none",
      onCancelled: (request) => {
        this.#onCancelled(request);
      },
    });
    this.#places.setInstances(group.instanceNames);
    group.serve(this);
  }

  get inflightCount(): number {
    return this.#accepted.inflightCount;
  }

  keptStates(): KeptStates {
    const sequences = this.#places.all();
    // Those that have just begun share what they begin with.
    const states = new Set(sequences.flatMap((sequence) => sequence.states));
    return { sequences: sequences.length, bytes: hostBytes([...states]) };
  }

  enqueue(scheduled: ScheduledRequest): void {
    const { group, clock } = this.#options;
    const { request, signal } = scheduled;
    if (signal.aborted) throw cancelled(request.id);
    if (this.#isClosed) throw schedulerStopped(request.id);
    const admission = this.#known.admit(request, this.#accepted);
    const refusal = group.refusal();
    if (refusal !== undefined) throw refusal;

    const nowNs = clock.nowNs();
    const sequence = this.#known.sequenceOf(admission, request);
    if (!this.#places.has(sequence)) this.#places.add(sequence);
    const queued = new QueuedRequest(scheduled, { enqueueNs: nowNs, shapeKey: "" });
    const isGenerated = admission.kind === "generated";
    const start = admission.kind !== "continue";
    const end = !isGenerated && request.sequence?.end === true;
    this.#executions.add(queued, { sequence, start, end });
    this.#accepted.add(queued);
    sequence.queue.push(queued);
    this.#idle.delete(sequence);
    if (end || isGenerated) {
      sequence.isEnding = true;
      this.#known.forget(sequence);
    }
    if (sequence.slot !== undefined) {
      if (sequence.queue.length === 1) this.#offer(sequence);
    } else if (request.timeoutUs > 0) {
      this.#places.expireAt(sequence, nowNs + request.timeoutUs * 1000);
    }
    group.wake();
    this.#setAlarm();
  }

  /** Requests of sequences that run already are taken as long as something is not answered. */
  async stop(): Promise<void> {
    // Between the last answer and this function's going on, an answered client may have sent the next request.
    do await this.#accepted.stop();
    while (this.#accepted.inflightCount > 0);
    this.#isClosed = true;
    for (const sequence of this.#places.all()) this.#end(sequence);
    this.#alarm.cancel();
  }

  // What the instances ask for and tell

  take(instanceName: string): readonly BatchEntry[] | undefined {
    const nowNs = this.#options.clock.nowNs();
    this.#waits.delete(instanceName);
    const decision = this.#places.takeReady(instanceName, nowNs);
    switch (decision.kind) {
      case "idle":
        return undefined;
      case "wait":
        this.#waits.set(instanceName, decision.untilNs);
        this.#setAlarm();
        return undefined;
      case "dispatch": {
        this.#options.statistics.limited(decision.limit);
        const entries = this.#executions.begin(decision.rows);
        if (!this.#config.isIterative) this.#endHandedOver(decision.rows);
        return entries;
      }
    }
  }

  hasWork(instanceName: string): boolean {
    return this.#places.hasReady(instanceName);
  }

  executed(execution: CompletedExecution): void {
    for (const sequence of this.#executions.finish(execution)) this.#continue(sequence);
  }

  failed(request: QueuedRequest, error: InferenceError): void {
    this.#accepted.fail(request, error, "BACKEND");
    const sequence = this.#executions.release(request);
    if (sequence !== undefined) this.#continue(sequence);
    this.#options.group.wake();
  }

  failWaiting(error: InferenceError): void {
    for (const sequence of this.#places.all()) {
      this.#endWith(sequence, error, "OTHER");
    }
  }

  instanceLost(instanceName: string, reason: string): void {
    if (!this.#options.group.keepsState) return;
    for (const sequence of this.#places.on(instanceName)) {
      const text = `instance '${instanceName}' of model '${this.#options.modelName}' was lost with its state: ${reason}`;
      this.#endWith(sequence, new InferenceError("UNAVAILABLE", text), "BACKEND");
    }
  }

  instancesChanged(): void {
    const { group, modelName } = this.#options;
    const { instanceNames, keepsState } = group;
    for (const sequence of this.#places.setInstances(instanceNames)) {
      this.#idle.delete(sequence);
      if (!keepsState) continue;
      const text = `the instance of model '${modelName}' that had its state is gone`;
      this.#endWith(sequence, new InferenceError("UNAVAILABLE", text), "BACKEND");
    }
    this.#fillSlots();
    group.wake();
    this.#setAlarm();
  }

  // Sequences

  /** Its next request, if there is one and nothing of it executes, may be executed from now on. */
  #offer(sequence: Sequence): void {
    const { slot, executing, queue } = sequence;
    const [request] = queue;
    if (slot === undefined || executing !== undefined || request === undefined) return;
    this.#places.makeReady(sequence, request, this.#executions.prepare(request));
    this.#accepted.dispatched(request, slot.instanceName);
  }

  /** After a step. */
  #continue(sequence: Sequence): void {
    if (sequence.queue.length > 0) {
      this.#offer(sequence);
    } else if (sequence.isEnding) {
      this.#end(sequence);
    } else if (sequence.slot !== undefined) {
      this.#idle.add(sequence, this.#options.clock.nowNs());
      this.#setAlarm();
    }
  }

  /** With its last request a sequence leaves its slot. */
  #endHandedOver(rows: readonly (QueuedRequest | undefined)[]): void {
    for (const request of rows) {
      const sequence = request === undefined ? undefined : this.#executions.sequenceOf(request);
      if (sequence?.isEnding === true && sequence.queue.length === 0) this.#end(sequence);
    }
  }

  /** Everything of it is answered or executing. Its slot goes to the one that has waited longest. `told`: see `forget`. */
  #end(sequence: Sequence, told?: string): void {
    if (sequence.isOver) return;
    sequence.isOver = true;
    this.#known.forget(sequence, told);
    this.#idle.delete(sequence);
    this.#places.remove(sequence);
    sequence.queue.length = 0;
    this.#fillSlots();
  }

  #fillSlots(): void {
    for (;;) {
      const sequence = this.#places.fillSlot();
      if (sequence === undefined) return;
      if (sequence.executing === undefined) this.#continue(sequence);
    }
  }

  /** Ends the sequence, and answers what it has queued. */
  #endWith(sequence: Sequence, error: InferenceError, reason: FailureReason): void {
    const requests = [...sequence.queue];
    this.#end(sequence, error.message);
    for (const request of requests) this.#accepted.fail(request, error, reason);
  }

  /** As in Triton, whoever gives up one request of a sequence gives up the sequence. */
  #onCancelled(request: QueuedRequest): void {
    const sequence = this.#executions.sequenceOf(request);
    if (sequence === undefined || sequence.isOver) return;
    const requests = [...sequence.queue];
    this.#end(sequence);
    for (const other of requests) {
      this.#accepted.fail(other, cancelled(other.scheduled.request.id), "CANCELED");
    }
    this.#options.group.wake();
  }

  // Time

  #setAlarm(): void {
    const deadlineNs = this.#places.firstToExpire?.deadlineNs ?? Infinity;
    this.#alarm.setAt(Math.min(deadlineNs, this.#idle.nextNs, this.#waits.nextNs));
  }

  #wake(): void {
    const { clock, group } = this.#options;
    const nowNs = clock.nowNs();
    for (const sequence of this.#idle.expire(nowNs)) {
      const limit = `${this.#config.maxIdleNs / 1000} microseconds, its max_sequence_idle_microseconds`;
      this.#end(sequence, `no request came for ${limit}`);
    }
    for (;;) {
      const sequence = this.#places.firstToExpire;
      if (sequence === undefined || sequence.deadlineNs > nowNs) break;
      this.#endWith(sequence, new InferenceError("UNAVAILABLE", EXPIRED), "REJECTED");
    }
    this.#waits.expire(nowNs);
    group.wake();
    this.#setAlarm();
  }
}

const EXPIRED = "timeout of the corresponding sequence has been expired";
