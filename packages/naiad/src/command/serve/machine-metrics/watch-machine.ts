import { setTimeout as sleep } from "node:timers/promises";
import type { MachineMetrics } from "@naiad/core";
import { LONGEST_TIMER_MS } from "../../longest-timer.ts";
import type { MachineReader } from "./machine-reader.ts";

export interface MachineWatchOptions {
  readonly reader: MachineReader;
  readonly intervalMs: number;
  /** Takes what was read. The next reading waits for it; that it fails is no matter. */
  readonly tell: (metrics: MachineMetrics) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads the machine once per interval and tells, until `signal` fires. */
export async function watchMachine({ reader, intervalMs, tell, signal }: MachineWatchOptions): Promise<void> {
  while (!signal.aborted) {
    await tell(await reader.read()).catch(() => undefined);
    await sleep(Math.min(intervalMs, LONGEST_TIMER_MS), undefined, { signal, ref: false }).catch(
      () => undefined,
    );
  }
}
