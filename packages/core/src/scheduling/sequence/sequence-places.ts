import { DeadlineHeap } from "../deadline-heap.ts";
import type { QueuedRequest } from "../queued-request.ts";
import type { DirectDecision } from "./direct-batch.ts";
import type { ReadyRequests } from "./ready-requests.ts";
import { createReadyRequests } from "./ready-requests.ts";
import type { Sequence } from "./sequence.ts";
import type { SequenceConfig } from "./sequence-config.ts";
import { SequenceSlots } from "./sequence-slots.ts";

/**
 * Where the sequences are: in a slot of an instance, with the request of each that may be executed now, or in the backlog
 * until a slot is free. Writes `slot`, `deadlineNs` and `heapIndex` of a sequence.
 */
export class SequencePlaces {
  readonly #config: SequenceConfig;
  readonly #slots: SequenceSlots<Sequence>;
  #ready = new Map<string, ReadyRequests>();
  /** The one that gets the next slot first. */
  readonly #backlog = new Set<Sequence>();
  readonly #deadlines = new DeadlineHeap<Sequence>();

  constructor(config: SequenceConfig) {
    this.#config = config;
    this.#slots = new SequenceSlots(config.slotsPerInstance);
  }

  /** Sequences on instances that are not among the names lose their slot and stand in front of the backlog; these. */
  setInstances(names: readonly string[]): readonly Sequence[] {
    const displaced = this.#slots.setInstances(names);
    const { strategy } = this.#config;
    this.#ready = new Map(
      names.map((name) => [name, this.#ready.get(name) ?? createReadyRequests(strategy)]),
    );
    if (displaced.length === 0) return displaced;
    const waiting = [...this.#backlog];
    this.#backlog.clear();
    for (const sequence of displaced) {
      sequence.slot = undefined;
      this.#backlog.add(sequence);
    }
    for (const sequence of waiting) this.#backlog.add(sequence);
    return displaced;
  }

  has(sequence: Sequence): boolean {
    return sequence.slot !== undefined || this.#backlog.has(sequence);
  }

  /** Into a slot where one is free. */
  add(sequence: Sequence): void {
    sequence.slot = this.#slots.assign(sequence);
    if (sequence.slot === undefined) this.#backlog.add(sequence);
  }

  /** Its slot is free then, but still empty. */
  remove(sequence: Sequence): void {
    const { slot, queue } = sequence;
    this.#leaveBacklog(sequence);
    if (slot === undefined) return;
    const [request] = queue;
    if (request !== undefined) this.#ready.get(slot.instanceName)?.remove(slot.index, request);
    this.#slots.release(slot);
    sequence.slot = undefined;
  }

  /** Gives a free slot to the first of the backlog, which is the result; `undefined` when there is neither. */
  fillSlot(): Sequence | undefined {
    const [sequence] = this.#backlog;
    if (sequence === undefined) return undefined;
    sequence.slot = this.#slots.assign(sequence);
    if (sequence.slot === undefined) return undefined;
    this.#leaveBacklog(sequence);
    return sequence;
  }

  /** Sequences in slots of one instance, by slot. */
  on(instanceName: string): readonly Sequence[] {
    return this.#slots.on(instanceName);
  }

  all(): readonly Sequence[] {
    return [...[...this.#ready.keys()].flatMap((name) => this.#slots.on(name)), ...this.#backlog];
  }

  // Requests that may be executed now

  /** Of a sequence in a slot, of which nothing executes. */
  makeReady(sequence: Sequence, request: QueuedRequest, step: { readonly starts: boolean }): void {
    const { slot } = sequence;
    if (slot !== undefined) this.#ready.get(slot.instanceName)?.add(slot.index, request, step);
  }

  hasReady(instanceName: string): boolean {
    return this.#ready.get(instanceName)?.isEmpty === false;
  }

  takeReady(instanceName: string, nowNs: number): DirectDecision<QueuedRequest> {
    const runningCount = this.#slots.on(instanceName).length;
    return this.#ready.get(instanceName)?.take(nowNs, { runningCount }) ?? { kind: "idle" };
  }

  // How long the backlog lasts

  /** The one in the backlog with the earliest deadline. */
  get firstToExpire(): Sequence | undefined {
    return this.#deadlines.first;
  }

  /** Of a sequence in the backlog. Only an earlier deadline than the one it has counts. */
  expireAt(sequence: Sequence, deadlineNs: number): void {
    if (deadlineNs >= sequence.deadlineNs) return;
    if (sequence.heapIndex >= 0) this.#deadlines.remove(sequence);
    sequence.deadlineNs = deadlineNs;
    this.#deadlines.add(sequence);
  }

  #leaveBacklog(sequence: Sequence): void {
    this.#backlog.delete(sequence);
    if (sequence.heapIndex >= 0) this.#deadlines.remove(sequence);
    sequence.deadlineNs = Infinity;
  }
}
