import type { TraceSettingsUpdate } from "@naiad/protocol";
import type { PerfTarget } from "../../perf/target.ts";

/** A target of this command: a server at an address. */
export interface CommandTarget extends PerfTarget {
  /** Changes the server's trace settings; names and values are those of Triton's API. */
  setTrace(settings: TraceSettingsUpdate): Promise<void>;
  /** Ends its connections. */
  close(): void;
}
