import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { createFetchTransport, createInferenceClient } from "@naiad/client";
import type { InferenceRequest, StatusCode, TensorTransfer } from "@naiad/protocol";
import { allTensors, encodeInferRequest, InferenceError } from "@naiad/protocol";
import { createClientTarget } from "../../perf/client-target.ts";
import type { InferTiming, PerfTarget } from "../../perf/target.ts";

export interface HttpTargetOptions {
  /** With its scheme and without a slash at its end. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly inputs: TensorTransfer;
  readonly outputs: TensorTransfer;
}

export interface HttpTarget extends PerfTarget {
  /** Ends its connections. */
  close(): void;
}

/** What is sent for a request, made once. */
interface Body {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string | number>>;
}

const STATUS_CODES: ReadonlyMap<number, StatusCode> = new Map([
  [400, "INVALID_ARG"],
  [404, "NOT_FOUND"],
  [408, "UNAVAILABLE"],
  [499, "CANCELLED"],
  [501, "UNSUPPORTED"],
  [503, "UNAVAILABLE"],
]);

/** Triton's HTTP API over connections that stay open. Answers are read to their end and not decoded. */
export function createHttpTarget({ url, headers, inputs, outputs }: HttpTargetOptions): HttpTarget {
  const isTls = url.startsWith("https:");
  const agent = isTls ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const send = isTls ? httpsRequest : httpRequest;
  const { hostname, port, pathname } = new URL(url);
  const base = pathname.replace(/\/$/, "");
  const client = createClientTarget(createInferenceClient(createFetchTransport({ url, headers })), "HTTP");
  const bodies = new WeakMap<InferenceRequest, Body>();
  /** What an abort ends. */
  const live = new Set<ClientRequest>();
  let watched: AbortSignal | undefined;

  function bodyOf(request: InferenceRequest): Body {
    const known = bodies.get(request);
    if (known !== undefined) return known;
    const message = encodeInferRequest(request, { inputs: allTensors(inputs), outputs: allTensors(outputs) });
    const body = {
      bytes: message.body,
      headers: {
        ...headers,
        "content-length": message.body.length,
        ...(message.binaryLength > 0
          ? {
              "content-type": "application/octet-stream",
              "inference-header-content-length": message.headerLength,
            }
          : { "content-type": "application/json" }),
      },
    };
    bodies.set(request, body);
    return body;
  }

  function pathOf({ modelName, modelVersion }: InferenceRequest): string {
    const version = modelVersion === "" ? "" : `/versions/${encodeURIComponent(modelVersion)}`;
    return `${base}/v2/models/${encodeURIComponent(modelName)}${version}/infer`;
  }

  function endWith(signal: AbortSignal): void {
    if (watched === signal) return;
    watched = signal;
    signal.addEventListener(
      "abort",
      () => {
        for (const request of live) request.destroy(new Error("stopped"));
      },
      { once: true },
    );
  }

  return {
    ...client,
    infer: (request, signal) => {
      signal.throwIfAborted();
      endWith(signal);
      const body = bodyOf(request);
      const options = { agent, hostname, port, path: pathOf(request), method: "POST", headers: body.headers };
      return new Promise<InferTiming>((resolve, reject) => {
        const startMs = performance.now();
        let sentMs = startMs;
        const outgoing = send(options, (answer) => {
          const firstMs = performance.now();
          readAnswer(answer).then(
            () => {
              live.delete(outgoing);
              resolve({
                responses: 1,
                sendNs: (Math.min(sentMs, firstMs) - startMs) * 1e6,
                receiveNs: (performance.now() - firstMs) * 1e6,
              });
            },
            (error: unknown) => {
              live.delete(outgoing);
              reject(InferenceError.from(error));
            },
          );
        });
        live.add(outgoing);
        outgoing.once("error", (error) => {
          live.delete(outgoing);
          reject(new InferenceError("UNAVAILABLE", `${url}: ${error.message}`, { cause: error }));
        });
        outgoing.end(body.bytes, () => {
          sentMs = performance.now();
        });
      });
    },
    close: () => {
      agent.destroy();
    },
  };
}

/** Rejects with the server's error. */
async function readAnswer(answer: IncomingMessage): Promise<void> {
  if (answer.statusCode === 200) {
    await new Promise<void>((resolve, reject) => {
      answer.once("end", resolve);
      answer.once("error", reject);
      answer.once("close", () => {
        reject(new InferenceError("UNAVAILABLE", "the connection ended in the middle of an answer"));
      });
      answer.resume();
    });
    return;
  }
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("utf8");
  const status = answer.statusCode ?? 0;
  throw new InferenceError(STATUS_CODES.get(status) ?? "INTERNAL", errorIn(text) ?? `HTTP status ${status}`);
}

function errorIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
