/** Runs tasks one after another in the order of their arrival. A rejected task does not hold up the next. */
export interface SerialQueue {
  /** Resolves or rejects as the task does. */
  run<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Tasks that have not ended. */
  readonly length: number;
}

export function createSerialQueue(): SerialQueue {
  let last: Promise<void> = Promise.resolve();
  let length = 0;
  return {
    run: (task) => {
      length += 1;
      const result = last.then(task);
      last = result.then(ended, ended);
      return result;
    },
    get length() {
      return length;
    },
  };

  function ended(): void {
    length -= 1;
  }
}
