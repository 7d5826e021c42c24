interface HeapEntry {
  readonly deadlineNs: number;
  /** Decides between equal deadlines. */
  readonly order: number;
  /** Index in the heap, -1 outside it; written by the heap alone. */
  heapIndex: number;
}

/** A binary heap with the earliest deadline on top, from which any entry can be removed. */
export class DeadlineHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    this.#put(entry, this.#entries.length);
    this.#rise(entry);
  }

  remove(entry: Entry): void {
    const index = entry.heapIndex;
    const last = this.#entries.pop();
    entry.heapIndex = -1;
    if (last === undefined || last === entry) return;
    this.#put(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }

  #rise(entry: Entry): void {
    while (entry.heapIndex > 0) {
      const index = entry.heapIndex;
      const parent = this.#entries[(index - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#put(entry, parent.heapIndex);
      this.#put(parent, index);
    }
  }

  #sink(entry: Entry): void {
    for (;;) {
      const index = entry.heapIndex;
      const left = this.#entries[2 * index + 1];
      const right = this.#entries[2 * index + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) return;
      this.#put(entry, child.heapIndex);
      this.#put(child, index);
    }
  }
}

function isBefore(a: HeapEntry, b: HeapEntry): boolean {
  return a.deadlineNs < b.deadlineNs || (a.deadlineNs === b.deadlineNs && a.order < b.order);
}
