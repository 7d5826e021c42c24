import type { QueuedRequest } from "../queued-request.ts";
import type { StateTensors } from "./sequence-states.ts";
import type { SlotAddress } from "./sequence-slots.ts";

/** A request's part in its sequence. Executed again, it neither starts nor ends anything. */
export interface Step {
  readonly sequence: Sequence;
  readonly start: boolean;
  readonly end: boolean;
}

/** A sequence from its START to the hand-over of its last request. Written by the batcher and its parts alone. */
export class Sequence {
  readonly id: string | bigint;
  /** Not handed to an instance yet, in order. While `slot` is there and nothing executes, the first one is ready. */
  readonly queue: QueuedRequest[] = [];
  /** One at a time: the next needs what it leaves behind. */
  executing: QueuedRequest | undefined = undefined;
  states: StateTensors;
  /** `undefined` in the backlog and at the end. */
  slot: SlotAddress | undefined = undefined;
  /** Its END has come, so nothing follows what is queued. */
  isEnding: boolean = false;
  isOver: boolean = false;

  /** Its place among the deadlines of the backlog. */
  deadlineNs: number = Infinity;
  heapIndex: number = -1;
  readonly order: number;

  constructor(options: {
    readonly id: string | bigint;
    readonly states: StateTensors;
    readonly order: number;
  }) {
    this.id = options.id;
    this.states = options.states;
    this.order = options.order;
  }
}
