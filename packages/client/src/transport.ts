import type { OperationInput, OperationName, OperationOutput } from "@naiad/protocol";

export interface TransportOptions {
  /** Buffers inside the input that the caller gives up. A transport that copies anyway leaves them alone. */
  readonly transfer?: readonly Transferable[];
  /** Abort rejects at once with CANCELLED, and tells the server where the transport can. */
  readonly signal?: AbortSignal;
}

/** A way to a server: one call of one operation. */
export interface Transport {
  /**
   * Rejects with an InferenceError: the server's own, CANCELLED after an abort, UNAVAILABLE where there is no way to the
   * server. The input is read before this returns and may be changed afterwards.
   */
  call<Name extends OperationName>(
    operation: Name,
    input: OperationInput<Name>,
    options?: TransportOptions,
  ): Promise<OperationOutput<Name>>;
}
