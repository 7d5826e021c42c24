import type { TraceActivity, TracedRequest, TraceLevel } from "@naiad/protocol";
import { inTimeOrder } from "./in-time-order.ts";
import type { RequestTrace } from "./request-trace.ts";

export interface TraceGroupOptions {
  readonly level: readonly TraceLevel[];
  readonly nowNs: () => number;
  readonly nextId: () => number;
  /** A request of the group is there, for those that it leads to, until `onWhole`. */
  readonly onRequest: (request: RequestTrace) => void;
  /** Nobody works on any of its requests any more. Called once. */
  readonly onWhole: (content: TraceContent) => void;
}

export interface TraceContent {
  readonly requests: readonly TracedRequest[];
  readonly activities: readonly TraceActivity[];
}

/** A client's request that is traced, and all that it leads to, until the last of them has ended. */
export class TraceGroup {
  readonly #options: TraceGroupOptions;
  readonly #requests: TracedRequest[] = [];
  readonly #activities: TraceActivity[] = [];
  #openCount = 0;
  #isWhole = false;

  constructor(options: TraceGroupOptions) {
    this.#options = options;
  }

  get level(): readonly TraceLevel[] {
    return this.#options.level;
  }

  nowNs(): number {
    return this.#options.nowNs();
  }

  nextId(): number {
    return this.#options.nextId();
  }

  /** Somebody has it who will `close` it. */
  hold(): void {
    this.#openCount += 1;
  }

  open(trace: RequestTrace, request: TracedRequest): void {
    this.hold();
    this.#requests.push(request);
    this.#options.onRequest(trace);
  }

  add(activity: TraceActivity): void {
    if (!this.#isWhole) this.#activities.push(activity);
  }

  close(): void {
    this.#openCount -= 1;
    if (this.#openCount > 0 || this.#isWhole) return;
    this.#isWhole = true;
    this.#options.onWhole({ requests: this.#requests, activities: inTimeOrder(this.#activities) });
  }
}
