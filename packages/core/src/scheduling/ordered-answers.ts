/** One request's place in the line. */
interface Turn<Request> {
  readonly request: Request;
  /** There once the answer is known. */
  deliver: (() => void) | undefined;
  /** What is to be done first in the request's turn. */
  readonly before: (() => void)[];
  isGivenUp: boolean;
  next: Turn<Request> | undefined;
}

/**
 * Triton's `preserve_ordering`, as documented: answers leave in the order in which their requests came. A request that
 * is answered outside of it (cancelled, expired) gives up its turn. The line is a linked list: a Map would be walked from
 * the beginning over everything that was ever deleted from it.
 */
export class OrderedAnswers<Request extends object> {
  readonly #turns = new Map<Request, Turn<Request>>();
  #first: Turn<Request> | undefined = undefined;
  #last: Turn<Request> | undefined = undefined;

  expect(request: Request): void {
    this.#append(request);
  }

  /** Calls `deliver` when everything before has been delivered or given up: now or later. */
  settle(request: Request, deliver: () => void): void {
    const turn = this.#turns.get(request) ?? this.#append(request);
    turn.deliver = deliver;
    this.#flush();
  }

  /** Calls `action` when everything before has been delivered or given up: now or later, and if the request gives up. */
  during(request: Request, action: () => void): void {
    const turn = this.#turns.get(request);
    if (turn === undefined || turn === this.#first) action();
    else turn.before.push(action);
  }

  giveUp(request: Request): void {
    const turn = this.#turns.get(request);
    if (turn === undefined) return;
    turn.isGivenUp = true;
    runAll(turn);
    this.#turns.delete(request);
    this.#flush();
  }

  #append(request: Request): Turn<Request> {
    const turn: Turn<Request> = {
      request,
      deliver: undefined,
      before: [],
      isGivenUp: false,
      next: undefined,
    };
    if (this.#last === undefined) this.#first = turn;
    else this.#last.next = turn;
    this.#last = turn;
    this.#turns.set(request, turn);
    return turn;
  }

  #flush(): void {
    for (let turn = this.#first; turn !== undefined; turn = this.#first) {
      runAll(turn);
      const { request, deliver, isGivenUp } = turn;
      if (deliver === undefined && !isGivenUp) return;
      // Out of the line first: a delivery may settle or give up others.
      this.#first = turn.next;
      if (this.#first === undefined) this.#last = undefined;
      if (isGivenUp) continue;
      this.#turns.delete(request);
      deliver?.();
    }
  }
}

function runAll({ before }: Turn<object>): void {
  for (const action of before.splice(0)) action();
}
