import { InferenceResponse } from "./model/inference-response.ts";
import { RESPONSE_COMPLETE_FINAL } from "./model/flags.ts";
import { ModelError } from "./model/model-error.ts";
import type { ResponseSender } from "./model/model.ts";

export interface SenderOptions {
  readonly decoupled: boolean;
  readonly signal: AbortSignal;
  /** Resolves when the reader is ready for another response; never rejects. Throws where the response is none to send. */
  readonly onResponse: (response: InferenceResponse, final: boolean) => Promise<void>;
  /** Called once, after the last response; `told`: that was said to be the last. */
  readonly onEnd: (told: boolean) => void;
}

/** A request's sender, and what the backend has to know of it. */
export interface OwnedSender extends ResponseSender {
  readonly isClosed: boolean;
  readonly sentCount: number;
  /** Without a word to anybody: the request has been answered in another way. */
  close(): void;
}

const UNABLE = "Unable to send response.";

/** Refuses what Triton's refuses, in its order and with its texts. */
export function createResponseSender({ decoupled, signal, onResponse, onEnd }: SenderOptions): OwnedSender {
  let isClosed = false;
  let sentCount = 0;

  function check(response: InferenceResponse | undefined, flags: number): void {
    if (flags !== 0 && flags !== RESPONSE_COMPLETE_FINAL) {
      throw new ModelError(`${UNABLE} Unsupported flag provided.`);
    }
    if (flags === 0 && response === undefined) {
      throw new ModelError(
        "Inference Response object must be provided when the response flags is set to zero.",
      );
    }
    if (!decoupled && response !== undefined && sentCount > 0) {
      throw new ModelError(`${UNABLE} Non-decoupled model cannot send more than one response.`);
    }
    if (!decoupled && response === undefined && sentCount === 0) {
      throw new ModelError(
        `${UNABLE} Non-decoupled model cannot send complete final before sending a response.`,
      );
    }
    if (isClosed) throw new ModelError(`${UNABLE} Response sender has been closed.`);
  }

  return {
    get isClosed() {
      return isClosed;
    },
    get sentCount() {
      return sentCount;
    },
    isCancelled: () => signal.aborted,
    send(response, flags = 0) {
      const given = response ?? undefined;
      if (given !== undefined && !(given instanceof InferenceResponse)) {
        throw new ModelError(
          `${UNABLE} Expected an 'InferenceResponse' object, found type '${typeName(given)}'.`,
        );
      }
      check(given, flags);
      const final = flags === RESPONSE_COMPLETE_FINAL;
      const sent = given === undefined ? Promise.resolve() : onResponse(given, final);
      if (given !== undefined) sentCount += 1;
      isClosed = final;
      if (final) onEnd(given !== undefined);
      return sent;
    },
    close() {
      isClosed = true;
    },
  };
}

/** As an error names the type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  const { constructor } = value as { readonly constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "object";
}
