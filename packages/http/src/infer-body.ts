import {
  type DecodedInferRequest,
  decodeInferRequest,
  decodeRawInferRequest,
  headerValue,
  InferenceError,
} from "@naiad/protocol";
import { modelBatching } from "./model-properties.ts";
import type { RouteCall } from "./route.ts";

export const HEADER_LENGTH = "inference-header-content-length";

/** Reads the body of an infer request: unpacked where needed, then as JSON, JSON and binary, or raw binary. */
export async function readInferBody(call: RouteCall): Promise<DecodedInferRequest> {
  const { reference, options } = call;
  const body = await unpackBody(call);
  const headerLength = readHeaderLength(call, body.length);
  // An empty body is a raw one too: its JSON has no bytes.
  if (headerLength === 0) return readRawBody(call, body);
  return decodeInferRequest({ ...reference, body, headerLength, maxInputSize: options.maxInputSize });
}

/** Whether the body's encoding can be undone here. */
export function isEncodingSupported({ request, options }: RouteCall): boolean {
  const encoding = headerValue(request.headers, "content-encoding") ?? "";
  if (encoding === "" || encoding === "identity") return true;
  return (encoding === "gzip" || encoding === "deflate") && options.decompress !== undefined;
}

async function unpackBody({ request, options }: RouteCall): Promise<Uint8Array> {
  const encoding = headerValue(request.headers, "content-encoding");
  if (options.decompress === undefined || (encoding !== "gzip" && encoding !== "deflate")) {
    return request.body;
  }
  if (request.body.length === 0) throw new InferenceError("INVALID_ARG", "nothing to be decompressed");
  return options.decompress(encoding, request.body, options.maxInputSize);
}

/** Read like C++'s stoi: digits count up to the first other character. */
const INTEGER = /^\s*([+-]?\d+)/;

function readHeaderLength({ request }: RouteCall, bodyLength: number): number {
  const text = headerValue(request.headers, HEADER_LENGTH);
  if (text === undefined) return bodyLength;
  const digits = INTEGER.exec(text)?.[1];
  if (digits === undefined) {
    throw new InferenceError("INVALID_ARG", `Unable to parse Inference-Header-Content-Length, got: ${text}`);
  }
  const length = Number(digits);
  if (length < 0 || length > bodyLength) {
    throw new InferenceError(
      "INVALID_ARG",
      `inference header size should be in range (0, ${bodyLength}), got: ${text}`,
    );
  }
  return length;
}

async function readRawBody(call: RouteCall, body: Uint8Array): Promise<DecodedInferRequest> {
  const { reference, request, options } = call;
  const [metadata, batching] = await Promise.all([
    options.handlers.modelMetadata(reference, { signal: request.signal }),
    modelBatching(call, reference),
  ]);
  const { inputs } = metadata;
  return decodeRawInferRequest({
    ...reference,
    body,
    maxInputSize: options.maxInputSize,
    inputs,
    batching,
  });
}
