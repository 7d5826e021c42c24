import type { MachineMetrics } from "@naiad/core";
import type {
  EdgeTracing,
  ExchangeHandler,
  HostInfo,
  InstanceReport,
  OperationHandlers,
  StreamingExchangeHandler,
  TraceNote,
} from "@naiad/protocol";
import type { InferenceError } from "@naiad/protocol";
import type { Subscribe } from "./event-stream.ts";

/** What the host serves through its ports. */
export interface HostServices {
  readonly info: HostInfo;
  readonly operations: OperationHandlers;
  readonly instances: () => readonly InstanceReport[];
  readonly subscribe: Subscribe;
  readonly handleExchange: ExchangeHandler;
  readonly handleGrpc: StreamingExchangeHandler;
  /** To be told among the metrics from now on, in the place of what was given before. */
  readonly setMachineMetrics: (metrics: MachineMetrics) => void;
  readonly tracing: EdgeTracing;
  /** The traces that are kept, and then those that come, until the server has stopped or `signal` fires. */
  readonly traces: (signal: AbortSignal) => AsyncIterable<TraceNote>;
}

/** One peer on one port. */
export interface Session {
  /** Aborts what the peer still waits for and closes the port. Idempotent. */
  close(reason: InferenceError): void;
  /** Resolves when the session has ended, from whichever side. */
  readonly closed: Promise<InferenceError>;
}
