import { createFetchTransport, createInferenceClient } from "@naiad/client";
import type { InferenceRequest, StatusCode, TensorTransfer } from "@naiad/protocol";
import { allTensors, decodeInferResponse, encodeInferRequest, InferenceError } from "@naiad/protocol";
import { createClientTarget } from "../../perf/client-target.ts";
import type { CommandTarget } from "./command-target.ts";
import { createHttpConnections, httpMessage } from "./http-connections.ts";
import type { HttpResponse } from "./http-response.ts";
import type { TlsOptions } from "./tls-options.ts";

export interface HttpTargetOptions {
  /** With its scheme and without a slash at its end. */
  readonly url: string;
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string>>;
  readonly inputs: TensorTransfer;
  readonly outputs: TensorTransfer;
}

const STATUS_CODES: ReadonlyMap<number, StatusCode> = new Map([
  [400, "INVALID_ARG"],
  [404, "NOT_FOUND"],
  [408, "UNAVAILABLE"],
  [499, "CANCELLED"],
  [501, "UNSUPPORTED"],
  [503, "UNAVAILABLE"],
]);

/** Triton's HTTP API over connections that stay open. Answers are read to their end, and decoded where somebody asks for outputs. */
export function createHttpTarget({ url, tls, headers, inputs, outputs }: HttpTargetOptions): CommandTarget {
  const server = new URL(url);
  const base = server.pathname.replace(/\/$/, "");
  const connections = createHttpConnections({ url: server, tls });
  const fetch = fetchOver(server, connections.send);
  const client = createInferenceClient(createFetchTransport({ url, headers, fetch }));
  const messages = new WeakMap<InferenceRequest, Uint8Array>();
  let watched: AbortSignal | undefined;

  function messageOf(request: InferenceRequest): Uint8Array {
    const known = messages.get(request);
    if (known !== undefined) return known;
    const { binaryLength, body, headerLength } = encodeInferRequest(request, {
      inputs: allTensors(inputs),
      outputs: allTensors(outputs),
    });
    const message = httpMessage(server, {
      method: "POST",
      path: base + inferPath(request),
      headers: {
        ...headers,
        ...(binaryLength > 0
          ? {
              "Content-Type": "application/octet-stream",
              "Inference-Header-Content-Length": headerLength,
            }
          : { "Content-Type": "application/json" }),
      },
      body,
    });
    messages.set(request, message);
    return message;
  }

  function endWith(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (watched === signal) return;
    watched = signal;
    signal.addEventListener("abort", () => {
      connections.destroy(new Error("stopped"));
    });
  }

  return {
    ...createClientTarget(client, { name: "HTTP", nowNs: () => performance.now() * 1e6 }),
    infer: async (request, signal) => {
      endWith(signal);
      const { response, sendNs, receiveNs } = await connections
        .send(messageOf(request))
        .catch((error: unknown) => {
          const { code, message } = InferenceError.from(error);
          throw new InferenceError(code, `${url}: ${message}`, { cause: error });
        });
      if (response.status !== 200) throw errorOf(response);
      requireAnswer(response, url);
      return { responses: 1, sendNs, receiveNs, outputs: () => outputsIn(response) };
    },
    setTrace: async (settings) => {
      await client.updateTraceSettings(settings);
    },
    close: () => {
      connections.destroy(new Error("closed"));
    },
  };
}

function inferPath({ modelName, modelVersion }: InferenceRequest): string {
  const version = modelVersion === "" ? "" : `/versions/${encodeURIComponent(modelVersion)}`;
  return `/v2/models/${encodeURIComponent(modelName)}${version}/infer`;
}

/** What of `fetch` a transport needs, over the same connections: they have the options of TLS, which Node's `fetch` does not take. */
function fetchOver(
  server: URL,
  send: ReturnType<typeof createHttpConnections>["send"],
): (url: string, init: RequestInit) => Promise<Response> {
  return async (target, { body, headers, method }) => {
    const { pathname, search } = new URL(target);
    const message = httpMessage(server, {
      method: method ?? "GET",
      path: pathname + search,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined &&
        body !== null && { body: new Uint8Array(await new Response(body).arrayBuffer()) }),
    });
    const { response } = await send(message);
    const bytes = response.body();
    const type = response.header("content-type");
    return new Response(bytes.length === 0 ? null : Uint8Array.from(bytes), {
      status: response.status,
      ...(type !== undefined && { headers: { "content-type": type } }),
    });
  };
}

function outputsIn(response: HttpResponse): ReturnType<typeof decodeInferResponse>["outputs"] {
  const length = response.header("inference-header-content-length");
  return decodeInferResponse({
    body: response.body(),
    ...(length !== undefined && { headerLength: Number(length) }),
  }).outputs;
}

/** Every inference is not decoded, but what a web site or a proxy says in place of the server is not measured as one. */
function requireAnswer(response: HttpResponse, url: string): void {
  const type = response.header("content-type");
  if (type === undefined || /^application\/(?:octet-stream|json)\b/i.test(type)) return;
  throw new InferenceError("UNAVAILABLE", `${url} answers with '${type}', which is no inference`);
}

function errorOf(response: HttpResponse): InferenceError {
  const { status } = response;
  const text = new TextDecoder().decode(response.body());
  return new InferenceError(STATUS_CODES.get(status) ?? "INTERNAL", errorIn(text) ?? `HTTP status ${status}`);
}

function errorIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
