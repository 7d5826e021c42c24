import { InferenceError, type InferenceRequest, parseHeaderPattern } from "@naiad/protocol";
import type { CallHeaders } from "./call-context.ts";

/** Adds the metadata that are forwarded to a request's parameters. Throws for a reserved name. */
export type ForwardMetadata = (request: InferenceRequest, headers: CallHeaders) => InferenceRequest;

export function createMetadataForwarding(pattern: string): ForwardMetadata {
  if (pattern === "") return (request) => request;
  const expression = parseHeaderPattern(pattern);
  return (request, headers) => {
    const forwarded = [...headers].filter(([name]) => !isTransport(name) && expression.test(name));
    const reserved = forwarded.find(([name]) => RESERVED.has(name) || name.startsWith("triton_"));
    if (reserved !== undefined) {
      throw new InferenceError(
        "INVALID_ARG",
        `Header '${reserved[0]}' is reserved for Triton usage and cannot be forwarded.`,
      );
    }
    if (forwarded.length === 0) return request;
    return { ...request, parameters: { ...request.parameters, ...Object.fromEntries(forwarded) } };
  };
}

const RESERVED: ReadonlySet<string> = new Set([
  "sequence_id",
  "sequence_start",
  "sequence_end",
  "priority",
  "timeout",
  "headers",
  "binary_data_output",
]);

/** What gRPC's libraries keep for themselves and do not call metadata. */
function isTransport(name: string): boolean {
  return name.startsWith("grpc-") || name === "content-type" || name === "te";
}
