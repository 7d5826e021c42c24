import type {
  InferenceResponse,
  JsonValue,
  OperationName,
  OperationOutput,
  StatusCode,
} from "@naiad/protocol";
import { InferenceError, decodeInferResponse, parseJson } from "@naiad/protocol";
import {
  readCudaRegions,
  readLogSettings,
  readModelMetadata,
  readModelStatistics,
  readObject,
  readRepositoryIndex,
  readServerMetadata,
  readSystemRegions,
  readTraceSettings,
} from "./read-json-answer.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Whole. */
  readonly body: Uint8Array;
}

/** The operation's output. Throws the server's error, or INTERNAL where this is no answer of a Triton server. */
export function readAnswer<Name extends OperationName>(
  operation: Name,
  answer: HttpAnswer,
): OperationOutput<Name> {
  return READERS[operation](answer);
}

const READERS: { readonly [Name in OperationName]: (answer: HttpAnswer) => OperationOutput<Name> } = {
  serverLive: (answer) => ({ live: saysYes(answer) }),
  serverReady: (answer) => ({ ready: saysYes(answer) }),
  modelReady: (answer) => ({ ready: saysYes(answer) }),
  serverMetadata: (answer) => readServerMetadata(json(answer)),
  serverMetrics: (answer) => ({ text: new TextDecoder().decode(succeeded(answer).body) }),
  modelMetadata: (answer) => readModelMetadata(json(answer)),
  modelConfig: (answer) => readObject(json(answer), "model configuration"),
  modelStatistics: (answer) => readModelStatistics(json(answer)),
  modelInfer: readInferAnswer,
  repositoryIndex: (answer) => readRepositoryIndex(json(answer)),
  repositoryModelLoad: nothing,
  repositoryModelUnload: nothing,
  traceSetting: (answer) => readTraceSettings(json(answer)),
  logSettings: (answer) => readLogSettings(json(answer)),
  systemSharedMemoryStatus: (answer) => readSystemRegions(json(answer)),
  systemSharedMemoryRegister: nothing,
  systemSharedMemoryUnregister: nothing,
  cudaSharedMemoryStatus: (answer) => readCudaRegions(json(answer)),
  cudaSharedMemoryRegister: nothing,
  cudaSharedMemoryUnregister: nothing,
};

function nothing(answer: HttpAnswer): Record<never, never> {
  succeeded(answer);
  return {};
}

/** Health is 200 or anything else. A host without a server may answer every path with 200 and a page. */
function saysYes({ status, headers }: HttpAnswer): boolean {
  return status === 200 && headers.get("content-type")?.startsWith("text/html") !== true;
}

function json(answer: HttpAnswer): JsonValue {
  const { body } = succeeded(answer);
  try {
    return parseJson(body);
  } catch (thrown) {
    throw new InferenceError(
      "INTERNAL",
      "the answer is not JSON: is there a Triton server at this address?",
      {
        cause: thrown,
      },
    );
  }
}

function readInferAnswer(answer: HttpAnswer): InferenceResponse {
  const { body, headers } = succeeded(answer);
  const headerLength = headers.get("inference-header-content-length");
  return decodeInferResponse(headerLength === null ? { body } : { body, headerLength: Number(headerLength) });
}

function succeeded(answer: HttpAnswer): HttpAnswer {
  if (answer.status !== 200) throw errorOf(answer);
  return answer;
}

function errorOf({ status, headers, body }: HttpAnswer): InferenceError {
  const message = errorText(body);
  return new InferenceError(codeOf(status, message), message, { retryAfterSecs: retryAfterSecs(headers) });
}

/** A date, which HTTP allows as well, is left to who wants to wait for it. */
function retryAfterSecs(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Triton's `{"error": ...}`, or whatever else stands there (a proxy's page). */
function errorText(body: Uint8Array): string {
  if (body.length === 0) return "client received an empty response from the server.";
  const text = new TextDecoder().decode(body);
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && "error" in value && typeof value.error === "string") {
      return value.error;
    }
  } catch {
    // Then the text itself says what there is to say.
  }
  return text;
}

/** HTTP carries no code: four of Triton's codes share status 400, where the text has to tell. */
function codeOf(status: number, message: string): StatusCode {
  switch (status) {
    case 400:
      if (/\bcancell?ed\b/i.test(message)) return "CANCELLED";
      return /\balready in manager\b/.test(message) ? "ALREADY_EXISTS" : "INVALID_ARG";
    case 404:
      return "NOT_FOUND";
    case 429:
    case 502:
    case 503:
    case 504:
      return "UNAVAILABLE";
    case 405:
    case 501:
      return "UNSUPPORTED";
    default:
      return status >= 500 ? "INTERNAL" : "UNKNOWN";
  }
}
