import type { QueuedRequest } from "./queued-request.ts";

/**
 * Triton's `preserve_ordering`, as documented: answers leave in the order in which their requests came. A request that
 * is answered outside of it (cancelled, expired) gives up its turn.
 */
export class OrderedAnswers {
  /** In order of arrival; the answer is there once it is known. */
  readonly #answers = new Map<QueuedRequest, (() => void) | undefined>();

  expect(request: QueuedRequest): void {
    this.#answers.set(request, undefined);
  }

  /** Calls `deliver` when everything before has been delivered or given up: now or later. */
  settle(request: QueuedRequest, deliver: () => void): void {
    this.#answers.set(request, deliver);
    this.#flush();
  }

  giveUp(request: QueuedRequest): void {
    this.#answers.delete(request);
    this.#flush();
  }

  #flush(): void {
    for (const [request, deliver] of this.#answers) {
      if (deliver === undefined) return;
      this.#answers.delete(request);
      deliver();
    }
  }
}
