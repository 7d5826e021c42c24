import type {
  ExchangeHandler,
  HostInfo,
  InstanceReport,
  OperationHandlers,
  StreamingExchangeHandler,
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
}

/** One peer on one port. */
export interface Session {
  /** Aborts what the peer still waits for and closes the port. Idempotent. */
  close(reason: InferenceError): void;
  /** Resolves when the session has ended, from whichever side. */
  readonly closed: Promise<InferenceError>;
}
