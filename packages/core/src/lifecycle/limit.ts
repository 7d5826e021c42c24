/** Runs tasks as they come, but never more than so many at once; the others wait in line. */
export interface Limit {
  run<Result>(task: () => Promise<Result>): Promise<Result>;
}

export function createLimit(count: number): Limit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    run: async (task) => {
      if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await task();
      } finally {
        // Its place goes to the next in line as it is.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
