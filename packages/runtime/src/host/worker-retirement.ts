import type { InstanceDevice } from "@naiad/core";

/** What is to become of a worker after something ended in it. */
export type Retirement = "keep" | "terminate" | "terminate-unless-used";

export interface WorkerUse {
  readonly device: InstanceDevice["kind"];
  /** Instances that stand in it or are being created. */
  readonly instances: number;
  /** Calls that it has not answered. */
  readonly owedCalls: number;
  /** Sum of what its released instances had taken, since it started. */
  readonly releasedBytes: number;
  /** Tensors in its memory that somebody is to read. */
  readonly deviceTensors: number;
  readonly releasedBytesLimit: number;
  /** Whether its engine has created any instance: one whose start failed repeats the first error for ever. */
  readonly proven: boolean;
}

/**
 * Only termination gives WASM memory back. A CPU worker goes with its last instance. A GPU worker is worth keeping: a
 * second model costs 43 ms in it and 5 s in a new one; it goes when it has been empty for a while, or when it is idle and
 * holds too much that nobody uses (its instances are then lost and made again elsewhere).
 */
export function retirementOf(use: WorkerUse): Retirement {
  if (use.owedCalls + use.deviceTensors > 0) return "keep";
  const empty = use.instances === 0;
  if (empty && (use.device === "cpu" || !use.proven)) return "terminate";
  if (use.releasedBytes > use.releasedBytesLimit) return "terminate";
  return empty ? "terminate-unless-used" : "keep";
}
