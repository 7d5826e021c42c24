import { Code, ConnectError } from "@connectrpc/connect";
import { InferenceError, type StatusCode } from "@naiad/protocol";

/** The status that Triton's gRPC frontend answers for a code. */
const CODES: Readonly<Record<StatusCode, Code>> = {
  UNKNOWN: Code.Unknown,
  INTERNAL: Code.Internal,
  NOT_FOUND: Code.NotFound,
  INVALID_ARG: Code.InvalidArgument,
  UNAVAILABLE: Code.Unavailable,
  UNSUPPORTED: Code.Unimplemented,
  ALREADY_EXISTS: Code.AlreadyExists,
  CANCELLED: Code.Canceled,
};

/** Whatever was thrown as the status of a call; `signal` is that of the call and knows why it was given up. */
export function toConnectError(thrown: unknown, signal: AbortSignal): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = InferenceError.from(thrown);
  // What was wrong with the messages of a stream comes through the stream of its responses.
  if (error.cause instanceof ConnectError) return error.cause;
  const { code, message, retryAfterSecs } = error;
  const reason: unknown = signal.reason;
  if (code === "CANCELLED" && reason instanceof ConnectError) return reason;
  return new ConnectError(message, CODES[code], retryMetadata(retryAfterSecs), undefined, thrown);
}

/** When gRPC's clients that repeat calls may do so. */
function retryMetadata(retryAfterSecs: number | undefined): Record<string, string> {
  if (retryAfterSecs === undefined) return {};
  return { "grpc-retry-pushback-ms": String(Math.ceil(retryAfterSecs * 1000)) };
}
