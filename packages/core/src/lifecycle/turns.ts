import type { SerialQueue } from "./serial-queue.ts";
import { createSerialQueue } from "./serial-queue.ts";

/** What happens to a model happens in its turn: one thing after another, and those of different models side by side. */
export interface Turns {
  take<Result>(modelName: string, task: () => Promise<Result>): Promise<Result>;
  /** Models of which something is going on. */
  busy(): readonly string[];
  /** Runs a task of a model's turn that waits for the turns of others. */
  whileWaiting<Result>(
    modelName: string,
    others: readonly string[],
    task: () => Promise<Result>,
  ): Promise<Result>;
  /** Whether the model's turn waits for the other's, by way of others too: who waited for it would wait for ever. */
  waitsFor(modelName: string, other: string): boolean;
}

export function createTurns(): Turns {
  const queues = new Map<string, SerialQueue>();
  const waits = new Map<string, readonly string[]>();

  function waitsFor(modelName: string, other: string): boolean {
    if (modelName === other) return true;
    return waits.get(modelName)?.some((waitedFor) => waitsFor(waitedFor, other)) ?? false;
  }

  return {
    take: async (modelName, task) => {
      const queue = queues.get(modelName) ?? createSerialQueue();
      queues.set(modelName, queue);
      try {
        return await queue.run(task);
      } finally {
        if (queue.length === 0 && queues.get(modelName) === queue) queues.delete(modelName);
      }
    },
    busy: () => [...queues.keys()],
    whileWaiting: async (modelName, others, task) => {
      waits.set(modelName, others);
      try {
        return await task();
      } finally {
        waits.delete(modelName);
      }
    },
    waitsFor,
  };
}
