import type {
  OperationInput,
  OperationName,
  OperationOutput,
  StreamOperationInput,
  StreamOperationItem,
  StreamOperationName,
} from "@naiad/protocol";

export interface TransportOptions {
  /** Buffers inside the input that the caller gives up. A transport that copies anyway leaves them alone. */
  readonly transfer?: readonly Transferable[];
  /** Abort rejects at once with CANCELLED, and tells the server where the transport can. */
  readonly signal?: AbortSignal;
}

/** A way to a server. */
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
  /**
   * Of an operation with any number of answers. Sends the request, and reads the input, when the iteration begins; throws
   * what `call` rejects with. Leaving the loop, or an abort, ends the request. What is read slowly is made slowly.
   */
  stream<Name extends StreamOperationName>(
    operation: Name,
    input: StreamOperationInput<Name>,
    options?: TransportOptions,
  ): AsyncIterable<StreamOperationItem<Name>>;
}
