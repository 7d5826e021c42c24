import { invariant } from "@naiad/protocol";
import type { InstanceOutcome, InstanceRequest } from "../../ports.ts";
import type { QueuedRequest } from "../queued-request.ts";
import type { ValidRequest } from "../scheduler.ts";
import type { BatchEntry, CompletedExecution } from "../work-source.ts";
import type { ControlTensors } from "./control-tensors.ts";
import { executedRequest, fillingRequest } from "./executed-request.ts";
import type { Sequence, Step } from "./sequence.ts";
import type { SequenceState } from "./sequence-states.ts";
import { initialStates, nextStates } from "./sequence-states.ts";

export interface SequenceExecutionsOptions {
  readonly states: readonly SequenceState[];
  readonly controls: ControlTensors;
  /** What the inputs of two requests must have in common to share a batch. */
  readonly shapeKey: (request: ValidRequest) => string;
  readonly isIterative: boolean;
}

/**
 * What instances execute for the requests of sequences, with control tensors and states, and what remains of it in the
 * sequences. Writes `executing` and `states` of a sequence.
 */
export class SequenceExecutions {
  readonly #options: SequenceExecutionsOptions;
  readonly #steps = new WeakMap<QueuedRequest, Step>();

  constructor(options: SequenceExecutionsOptions) {
    this.#options = options;
  }

  add(request: QueuedRequest, step: Step): void {
    this.#steps.set(request, step);
  }

  sequenceOf(request: QueuedRequest): Sequence | undefined {
    return this.#steps.get(request)?.sequence;
  }

  /** The request is the next of its sequence, of which nothing executes: its state is known, and so is what it fits with. */
  prepare(request: QueuedRequest): { readonly starts: boolean } {
    const { sequence, start } = this.#stepOf(request);
    const { states, shapeKey } = this.#options;
    if (start) sequence.states = initialStates(states);
    const key = shapeKey(request.scheduled.request);
    request.shapeKey = [key, ...sequence.states.map(({ shape }) => shape.join())].join("|");
    return { starts: start };
  }

  /** By row; `undefined` where a row only fills its place. The requests leave the queues of their sequences. */
  begin(requests: readonly (QueuedRequest | undefined)[]): readonly BatchEntry[] {
    const rows = requests.map((request) => (request === undefined ? undefined : this.#begin(request)));
    const model = rows.find((row) => row !== undefined);
    invariant(model !== undefined, "a batch has a request");
    const filling = rows.includes(undefined)
      ? fillingRequest(model.executed, this.#options.controls)
      : undefined;
    return rows.map((row) => row ?? { executed: filling ?? model.executed, request: undefined });
  }

  /** Those of the sequences behind it that go on, with their new states. A request that is executed again is queued. */
  finish({ entries, outcomes }: CompletedExecution): readonly Sequence[] {
    return entries.flatMap(({ request }, index) => {
      const sequence = request === undefined ? undefined : this.release(request);
      if (request === undefined || sequence === undefined) return [];
      const outcome = outcomes[index];
      if (outcome?.kind === "response" || outcome?.kind === "reschedule") {
        sequence.states = nextStates(this.#options.states, sequence.states, outcome.outputs);
      }
      if (this.#isAskedAgain(outcome) && !request.answered) {
        this.#steps.set(request, { sequence, start: false, end: false });
        sequence.queue.unshift(request);
      }
      return [sequence];
    });
  }

  /** The request does not execute any more. Its sequence, where that executed it and goes on. */
  release(request: QueuedRequest): Sequence | undefined {
    const sequence = this.sequenceOf(request);
    if (sequence?.executing !== request) return undefined;
    sequence.executing = undefined;
    return sequence.isOver ? undefined : sequence;
  }

  /** The execution as its clients may know it: without those that are executed again, and without states. */
  answered(execution: CompletedExecution): CompletedExecution {
    const { entries, outcomes } = execution;
    return {
      ...execution,
      entries: entries.map((entry, index) =>
        this.#isAskedAgain(outcomes[index]) ? { ...entry, request: undefined } : entry,
      ),
      outcomes: outcomes.map((outcome, index) => this.withoutStates(outcome, entries[index]?.request)),
    };
  }

  /** States are among the outputs of an execution, and no business of a client that does not ask for them. */
  withoutStates<Outcome extends InstanceOutcome>(
    outcome: Outcome,
    request: QueuedRequest | undefined,
  ): Outcome {
    if (outcome.kind !== "response" || this.#options.states.length === 0) return outcome;
    const wanted = request?.scheduled.request.outputs ?? [];
    return { ...outcome, outputs: outcome.outputs.filter(({ name }) => wanted.includes(name)) };
  }

  #begin(request: QueuedRequest): BatchEntry & { readonly executed: InstanceRequest } {
    const { sequence, start, end } = this.#stepOf(request);
    sequence.queue.shift();
    sequence.executing = request;
    const { controls, states } = this.#options;
    const { trace } = request.scheduled;
    const executed = executedRequest(request.scheduled.request, {
      flags: { id: sequence.id, start, end },
      ...(trace !== undefined && { traceId: trace.id }),
      controls,
      states,
      current: sequence.states,
    });
    return { executed, request };
  }

  #isAskedAgain(outcome: InstanceOutcome | undefined): boolean {
    return outcome?.kind === "reschedule" && this.#options.isIterative;
  }

  #stepOf(request: QueuedRequest): Step {
    const step = this.#steps.get(request);
    invariant(step !== undefined, "each request belongs to a sequence");
    return step;
  }
}
