import type { DeviceMemory, InstanceOutcome } from "@naiad/core";
import type { Channel } from "@naiad/link";
import type { InstanceContract } from "../contracts.ts";

export interface WorkerTensorsOptions {
  readonly workerId: string;
  readonly channel: () => Channel<InstanceContract>;
  readonly hasEnded: () => boolean;
  readonly onDisposed: () => void;
}

/** The tensors that executions have left in a worker. */
export interface WorkerTensors {
  readonly count: number;
  /** As their holders see them. */
  readonly memory: DeviceMemory;
  /** An execution has given these outcomes. */
  add(outcomes: readonly InstanceOutcome[]): void;
}

export function createWorkerTensors(options: WorkerTensorsOptions): WorkerTensors {
  const { channel, hasEnded, onDisposed, workerId } = options;
  let count = 0;
  return {
    get count() {
      return count;
    },
    memory: {
      worker: workerId,
      get isLost() {
        return hasEnded();
      },
      dispose: ({ handle }) => {
        if (hasEnded()) return;
        count -= 1;
        channel().notify("disposeTensor", { handle });
        onDisposed();
      },
    },
    add(outcomes) {
      for (const outcome of outcomes) {
        if (!("outputs" in outcome)) continue;
        count += outcome.outputs.filter(({ kind }) => kind === "device").length;
      }
    },
  };
}
