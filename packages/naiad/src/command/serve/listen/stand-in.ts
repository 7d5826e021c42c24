import type { ExchangeResponse } from "@naiad/protocol";
import { httpStatusOf, InferenceError } from "@naiad/protocol";

/**
 * The answer where no browser can give one. Health is told with Triton's statuses: neither live nor ready. gRPC has its status in
 * headers of an answer that is otherwise a success.
 */
export function standIn(protocol: string, rawTarget: string, thrown: unknown): ExchangeResponse {
  const { code, message } = InferenceError.from(thrown);
  if (protocol === "grpc") return grpcError(code, message);
  if (/^\/v2\/health\/(live|ready)($|\?)/.test(rawTarget)) {
    return { status: 400, headers: [["content-length", "0"]], body: new Uint8Array(0) };
  }
  const body = new TextEncoder().encode(JSON.stringify({ error: message }));
  return {
    status: httpStatusOf(code),
    headers: [
      ["content-type", "application/json"],
      ["content-length", String(body.length)],
      ...(code === "UNAVAILABLE" ? [["retry-after", "1"] as const] : []),
    ],
    body,
  };
}

const GRPC_UNAVAILABLE = "14";
const GRPC_UNIMPLEMENTED = "12";
const GRPC_INTERNAL = "13";

function grpcError(code: InferenceError["code"], message: string): ExchangeResponse {
  const status =
    code === "UNAVAILABLE" ? GRPC_UNAVAILABLE : code === "UNSUPPORTED" ? GRPC_UNIMPLEMENTED : GRPC_INTERNAL;
  return {
    status: 200,
    headers: [
      ["content-type", "application/grpc"],
      ["grpc-status", status],
      ["grpc-message", encodeURIComponent(message)],
    ],
    body: new Uint8Array(0),
  };
}
