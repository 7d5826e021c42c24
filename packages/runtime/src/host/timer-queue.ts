import type { CancelTimer } from "@naiad/core";

/** Starts one wait of the platform; `wake` may come early or late, but comes, never from inside the call. Returns a cancel. */
export type ArmTimer = (delayNs: number, wake: () => void) => CancelTimer;

export interface TimerQueue {
  after(delayNs: number, wake: () => void): CancelTimer;
}

interface Entry {
  readonly dueNs: number;
  /** Orders entries that are due at the same time as they came. */
  readonly order: number;
  wake: (() => void) | undefined;
}

/**
 * Any number of pending wakes on at most one pending wait of the platform. A cancelled entry stays in the heap until its
 * time: most timers of a server are cancelled, and arming the platform again each time would cost more.
 */
export function createTimerQueue(nowNs: () => number, arm: ArmTimer): TimerQueue {
  const heap: Entry[] = [];
  let armed: { readonly dueNs: number; readonly cancel: CancelTimer } | undefined;
  let order = 0;

  function rearm(): void {
    while (heap[0] !== undefined && heap[0].wake === undefined) pop(heap);
    const next = heap[0];
    if (next === undefined || (armed !== undefined && armed.dueNs <= next.dueNs)) return;
    armed?.cancel();
    armed = { dueNs: next.dueNs, cancel: arm(Math.max(0, next.dueNs - nowNs()), fire) };
  }

  function fire(): void {
    armed = undefined;
    const now = nowNs();
    // Collected before the first is called: a wake that asks for a zero delay waits for the next turn.
    const due: Entry[] = [];
    for (let first = heap[0]; first !== undefined && first.dueNs <= now; first = heap[0]) due.push(pop(heap));
    // Armed first, so that a wake that throws cannot stop time.
    rearm();
    for (const entry of due) {
      const wake = entry.wake;
      entry.wake = undefined;
      wake?.();
    }
  }

  return {
    after(delayNs, wake) {
      const entry: Entry = { dueNs: nowNs() + Math.max(0, delayNs), order: order++, wake };
      push(heap, entry);
      rearm();
      return () => {
        entry.wake = undefined;
      };
    },
  };
}

function before(a: Entry, b: Entry): boolean {
  return a.dueNs < b.dueNs || (a.dueNs === b.dueNs && a.order < b.order);
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parentAt = (at - 1) >> 1;
    const parent = heap[parentAt];
    if (parent === undefined || before(parent, entry)) break;
    heap[at] = parent;
    at = parentAt;
  }
  heap[at] = entry;
}

/** Removes the first entry; the heap must not be empty. */
function pop(heap: Entry[]): Entry {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined) throw new RangeError("pop of an empty heap");
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const leftAt = 2 * at + 1;
    const left = heap[leftAt];
    const right = heap[leftAt + 1];
    if (left === undefined) break;
    const rightIsLess = right !== undefined && before(right, left);
    const child = rightIsLess ? right : left;
    if (before(last, child)) break;
    heap[at] = child;
    at = rightIsLess ? leftAt + 1 : leftAt;
  }
  heap[at] = last;
  return first;
}
