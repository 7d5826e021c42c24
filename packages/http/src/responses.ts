import {
  encodeJson,
  type ExchangeResponse,
  type HeaderList,
  httpStatusOf,
  InferenceError,
  type JsonValue,
  type OperationContext,
} from "@naiad/protocol";
import type { RouteCall } from "./route.ts";

export interface ResponseContent {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly headers?: HeaderList;
}

/** Every response names the type and the length of its content. */
export function respond(content: ResponseContent): ExchangeResponse {
  const { status, contentType, body, headers = [] } = content;
  return {
    status,
    headers: [["content-type", contentType], ["content-length", String(body.length)], ...headers],
    body,
  };
}

export function emptyResponse(status: number): ExchangeResponse {
  return respond({ status, contentType: "text/plain", body: new Uint8Array(0) });
}

/** The answer of an operation that has nothing to say. Triton calls that JSON too. */
export function emptyJsonResponse(): ExchangeResponse {
  return respond({ status: 200, contentType: "application/json", body: new Uint8Array(0) });
}

export function jsonResponse(status: number, value: JsonValue): ExchangeResponse {
  return respond({ status, contentType: "application/json", body: encodeJson(value) });
}

/** Messages are plain data, but interfaces lack the index signature that `JsonObject` wants. */
export function jsonMessage(message: object): ExchangeResponse {
  return jsonResponse(200, message as JsonValue);
}

export function contextOf(call: RouteCall): OperationContext {
  return { signal: call.request.signal };
}

/** Triton's error body: the text and nothing else. */
export function errorText(status: number, message: string): ExchangeResponse {
  return jsonResponse(status, { error: message });
}

/** The answer to whatever went wrong, with the status of its code. */
export function errorResponse(thrown: unknown): ExchangeResponse {
  const { code, message, retryAfterSecs } = InferenceError.from(thrown);
  const response = errorText(httpStatusOf(code), message);
  if (retryAfterSecs === undefined) return response;
  // HTTP counts whole seconds, and 0 would mean now.
  const wait = String(Math.max(1, Math.ceil(retryAfterSecs)));
  return { ...response, headers: [...response.headers, ["retry-after", wait]] };
}
