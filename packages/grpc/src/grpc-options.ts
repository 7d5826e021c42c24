import type { Compress, Decompress, EdgeTracing, OperationHandlers, RestrictedApi } from "@naiad/protocol";

export interface GrpcOptions {
  readonly handlers: OperationHandlers;
  /** Of the server behind `handlers`. Without it what happens here stands in no trace. */
  readonly tracing?: EdgeTracing;
  /** Bytes that one message may have, either way. Default: Triton's, which is what an int32 can count. */
  readonly maxMessageSize?: number;
  /** Triton's `--grpc-restricted-protocol`: the header is given without its prefix `triton-grpc-protocol-`. */
  readonly restrictedProtocols?: readonly RestrictedApi[];
  /** Regular expression for names of metadata that become parameters of an inference request. */
  readonly headerForwardPattern?: string;
  /** Without it compressed messages are answered with UNIMPLEMENTED and no response is compressed. */
  readonly compression?: GrpcCompression;
  /**
   * Which responses are compressed for clients that take it: none (default), since most clients say that they do and only
   * lose time, or those that are long enough.
   */
  readonly compressedResponses?: "none" | "long";
}

export interface GrpcCompression {
  readonly compress: Compress;
  readonly decompress: Decompress;
}

export const DEFAULT_MAX_MESSAGE_SIZE: number = 2 ** 31 - 1;
