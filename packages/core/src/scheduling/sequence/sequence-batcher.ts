import type { ModelSequenceBatching } from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import type { InstanceOutcome, InstanceRequest } from "../../ports.ts";
import { AcceptedRequests, cancelled } from "../accepted-requests.ts";
import type { Alarm } from "../alarm.ts";
import { createAlarm } from "../alarm.ts";
import { shapeKeyOf } from "../batching-config.ts";
import { QueuedRequest } from "../queued-request.ts";
import type { FailureReason, ScheduledRequest, Scheduler, ValidRequest } from "../scheduler.ts";
import type { SchedulerOptions } from "../scheduler-options.ts";
import type {
  BatchEntry,
  CompletedExecution,
  DecoupledEnd,
  DecoupledResponse,
  WorkSource,
} from "../work-source.ts";
import { stopping } from "./admit-request.ts";
import type { ControlTensors } from "./control-tensors.ts";
import { controlTensors } from "./control-tensors.ts";
import { executedRequest, fillingRequest } from "./executed-request.ts";
import { KnownSequences } from "./known-sequences.ts";
import type { Sequence, Step } from "./sequence.ts";
import type { SequenceConfig } from "./sequence-config.ts";
import { sequenceConfig } from "./sequence-config.ts";
import { SequencePlaces } from "./sequence-places.ts";
import type { SequenceState } from "./sequence-states.ts";
import { initialStates, nextStates } from "./sequence-states.ts";

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
  readonly #options: SequenceBatcherOptions;
  readonly #config: SequenceConfig;
  readonly #controls: ControlTensors;
  readonly #shapeKey: (request: ValidRequest) => string;
  readonly #accepted: AcceptedRequests;
  readonly #known: KnownSequences;
  readonly #places: SequencePlaces;
  /** In a slot with nothing to do, the longest idle first. */
  readonly #idle = new Set<Sequence>();
  readonly #steps = new WeakMap<QueuedRequest, Step>();
  /** When instances that wait want to be asked again. */
  readonly #waits = new Map<string, number>();
  /** For the queue delay, idle sequences and the backlog's deadlines. */
  readonly #alarm: Alarm;
  #isClosed = false;

  constructor(options: SequenceBatcherOptions, batching: ModelSequenceBatching) {
    const { modelName, signature, group, clock, logger, statistics } = options;
    this.#options = options;
    this.#config = sequenceConfig(batching, signature);
    this.#controls = controlTensors(batching, signature);
    this.#shapeKey = shapeKeyOf(signature);
    const { isIterative, strategy } = this.#config;
    const { correlationId } = this.#controls;
    this.#known = new KnownSequences({ ...options, ...signature, correlationId, isIterative });
    this.#places = new SequencePlaces(this.#config);
    this.#alarm = createAlarm(clock, () => {
      this.#wake();
    });
    this.#accepted = new AcceptedRequests({
      modelName,
      clock,
      logger,
      statistics,
      preserveOrdering: strategy.kind === "oldest" && strategy.preserveOrdering,
      orderedFrom: "dispatch",
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

  enqueue(scheduled: ScheduledRequest): void {
    const { group, clock } = this.#options;
    const { request, signal } = scheduled;
    if (signal.aborted) throw cancelled(request.id);
    if (this.#isClosed) throw stopping();
    const admission = this.#known.admit(request, this.#accepted);
    const refusal = group.refusal();
    if (refusal !== undefined) throw refusal;

    const nowNs = clock.nowNs();
    const sequence = this.#known.sequenceOf(admission, request);
    if (!this.#places.has(sequence)) this.#places.add(sequence);
    const queued = new QueuedRequest(scheduled, { enqueueNs: nowNs, shapeKey: this.#shapeKey(request) });
    const isGenerated = admission.kind === "generated";
    const start = admission.kind !== "continue";
    const end = !isGenerated && request.sequence?.end === true;
    this.#steps.set(queued, { sequence, start, end });
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
    await this.#accepted.stop();
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
      case "dispatch":
        this.#options.statistics.limited(decision.limit);
        return this.#entriesOf(decision.rows);
    }
  }

  hasWork(instanceName: string): boolean {
    return this.#places.hasReady(instanceName);
  }

  executed({ entries, outcomes }: CompletedExecution): void {
    for (const [index, { request }] of entries.entries()) {
      const step = request === undefined ? undefined : this.#steps.get(request);
      if (request === undefined || step === undefined || step.sequence.executing !== request) continue;
      const { sequence } = step;
      sequence.executing = undefined;
      if (sequence.isOver) continue;
      const outcome = outcomes[index];
      if (outcome?.kind === "response" || outcome?.kind === "reschedule") {
        sequence.states = nextStates(this.#options.states, sequence.states, outcome.outputs);
      }
      if (outcome?.kind === "reschedule" && this.#config.isIterative && !request.answered) {
        this.#steps.set(request, { sequence, start: false, end: false });
        sequence.queue.unshift(request);
      }
      this.#continue(sequence);
    }
  }

  completed(execution: CompletedExecution): void {
    const entries = execution.entries.map((entry, index) => {
      const goesOn = execution.outcomes[index]?.kind === "reschedule" && this.#config.isIterative;
      return goesOn ? { ...entry, request: undefined } : entry;
    });
    const outcomes = execution.outcomes.map((outcome, index) =>
      this.#withoutStates(outcome, execution.entries[index]?.request),
    );
    this.#accepted.complete({ ...execution, entries, outcomes });
  }

  responded(request: QueuedRequest, response: DecoupledResponse): Promise<void> {
    return this.#accepted.respond(request, this.#withoutStates(response, request));
  }

  ended(request: QueuedRequest, end: DecoupledEnd): void {
    this.#accepted.end(request, end);
  }

  failed(request: QueuedRequest, error: InferenceError): void {
    this.#accepted.fail(request, error, "BACKEND");
    const sequence = this.#steps.get(request)?.sequence;
    if (sequence?.executing !== request) return;
    sequence.executing = undefined;
    if (!sequence.isOver) this.#continue(sequence);
    this.#options.group.wake();
  }

  /** States are among the outputs of an execution, and no business of a client that does not ask for them. */
  #withoutStates<Outcome extends InstanceOutcome>(
    outcome: Outcome,
    request: QueuedRequest | undefined,
  ): Outcome {
    if (outcome.kind !== "response" || this.#options.states.length === 0) return outcome;
    const wanted = request?.scheduled.request.outputs ?? [];
    return { ...outcome, outputs: outcome.outputs.filter(({ name }) => wanted.includes(name)) };
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
    for (const name of this.#waits.keys()) if (!instanceNames.includes(name)) this.#waits.delete(name);
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
    this.#places.makeReady(sequence, request);
    this.#accepted.dispatched(request);
  }

  /** After a step. */
  #continue(sequence: Sequence): void {
    if (sequence.queue.length > 0) {
      this.#offer(sequence);
    } else if (sequence.isEnding) {
      this.#end(sequence);
    } else if (sequence.slot !== undefined) {
      sequence.idleSinceNs = this.#options.clock.nowNs();
      this.#idle.add(sequence);
      this.#setAlarm();
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
    const sequence = this.#steps.get(request)?.sequence;
    if (sequence === undefined || sequence.isOver) return;
    const requests = [...sequence.queue];
    this.#end(sequence);
    for (const other of requests) {
      this.#accepted.fail(other, cancelled(other.scheduled.request.id), "CANCELED");
    }
    this.#options.group.wake();
  }

  // Batches

  #entriesOf(requests: readonly (QueuedRequest | undefined)[]): readonly BatchEntry[] {
    const rows = requests.map((request) => (request === undefined ? undefined : this.#begin(request)));
    const model = rows.find((row) => row !== undefined);
    invariant(model !== undefined, "a batch has a request");
    const filling = rows.includes(undefined) ? fillingRequest(model.executed, this.#controls) : undefined;
    return rows.map((row) => row ?? { executed: filling ?? model.executed, request: undefined });
  }

  /** The request leaves its sequence's queue to be executed; with the last one the sequence leaves its slot. */
  #begin(request: QueuedRequest): BatchEntry & { readonly executed: InstanceRequest } {
    const step = this.#steps.get(request);
    invariant(step !== undefined, "each request belongs to a sequence");
    const { sequence, start, end } = step;
    sequence.queue.shift();
    sequence.executing = request;
    const { states } = this.#options;
    if (start) sequence.states = initialStates(states);
    const executed = executedRequest(request.scheduled.request, {
      flags: { id: sequence.id, start, end },
      controls: this.#controls,
      states,
      current: sequence.states,
    });
    const mayGoOn = this.#config.isIterative;
    if (sequence.isEnding && sequence.queue.length === 0 && !mayGoOn) this.#end(sequence);
    return { executed, request };
  }

  // Time

  #setAlarm(): void {
    let wantedNs = this.#places.firstToExpire?.deadlineNs ?? Infinity;
    const [longestIdle] = this.#idle;
    if (longestIdle !== undefined) {
      wantedNs = Math.min(wantedNs, longestIdle.idleSinceNs + this.#config.maxIdleNs);
    }
    for (const untilNs of this.#waits.values()) wantedNs = Math.min(wantedNs, untilNs);
    this.#alarm.setAt(wantedNs);
  }

  #wake(): void {
    const { clock, group } = this.#options;
    const nowNs = clock.nowNs();
    const { maxIdleNs } = this.#config;
    for (const sequence of this.#idle) {
      if (sequence.idleSinceNs + maxIdleNs > nowNs) break;
      const limit = `${maxIdleNs / 1000} microseconds, its max_sequence_idle_microseconds`;
      this.#end(sequence, `no request came for ${limit}`);
    }
    for (;;) {
      const sequence = this.#places.firstToExpire;
      if (sequence === undefined || sequence.deadlineNs > nowNs) break;
      this.#endWith(sequence, new InferenceError("UNAVAILABLE", EXPIRED), "REJECTED");
    }
    group.wake();
    this.#setAlarm();
  }
}

const EXPIRED = "timeout of the corresponding sequence has been expired";
