/**
 * Triton's HTTP API with nothing but `fetch`: what any page can do without our SDK. Tensors travel in the binary tensor
 * extension: a JSON head, then the tensors' bytes in order.
 */
export interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

export interface InferOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: { readonly binary_data_size?: number };
}

/** What went over the wire, for the panel that shows it. */
export interface Exchange {
  readonly url: string;
  readonly method: string;
  /** JSON head of the request, and the number of bytes behind it. */
  readonly request: unknown;
  readonly requestBinaryBytes: number;
  readonly status: number;
  readonly response: unknown;
  readonly responseBinaryBytes: number;
  readonly milliseconds: number;
}

export interface InferResult {
  readonly outputs: ReadonlyMap<string, Float32Array>;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  readonly exchange: Exchange;
}

/** An answer with an error status: the server's own text, and the exchange that led to it. */
export class V2Error extends Error {
  readonly exchange: Exchange;

  constructor(exchange: Exchange) {
    super(errorText(exchange.response) ?? `HTTP ${exchange.status}`);
    this.exchange = exchange;
  }
}

/** Runs a model on float inputs. Throws `V2Error` for an error answer. */
export async function infer(
  model: string,
  inputs: readonly InferInput[],
  signal?: AbortSignal,
): Promise<InferResult> {
  const head = {
    inputs: inputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: data.byteLength },
    })),
    parameters: { binary_data_output: true },
  };
  const headBytes = new TextEncoder().encode(JSON.stringify(head));
  const url = modelUrl(model, "/infer");
  const started = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "Inference-Header-Content-Length": String(headBytes.length) },
    body: new Blob([headBytes, ...inputs.map((input) => input.data)]),
    ...(signal === undefined ? {} : { signal }),
  });
  const body = new Uint8Array(await response.arrayBuffer());
  const milliseconds = performance.now() - started;
  const headLength = Number(response.headers.get("Inference-Header-Content-Length") ?? body.length);
  const answer: unknown = JSON.parse(new TextDecoder().decode(body.subarray(0, headLength)));
  const exchange: Exchange = {
    url,
    method: "POST",
    request: head,
    requestBinaryBytes: inputs.reduce((sum, input) => sum + input.data.byteLength, 0),
    status: response.status,
    response: answer,
    responseBinaryBytes: body.length - headLength,
    milliseconds,
  };
  if (!response.ok) throw new V2Error(exchange);

  const outputs = new Map<string, Float32Array>();
  const shapes = new Map<string, readonly number[]>();
  let offset = headLength;
  for (const output of (answer as { readonly outputs: readonly InferOutput[] }).outputs) {
    const size = output.parameters?.binary_data_size ?? 0;
    outputs.set(output.name, new Float32Array(body.slice(offset, offset + size).buffer));
    shapes.set(output.name, output.shape);
    offset += size;
  }
  return { outputs, shapes, exchange };
}

/** Any call of the API with a JSON body as text, for the editor view. The body goes out exactly as it stands. */
export async function call(method: "GET" | "POST", url: string, body?: string): Promise<Exchange> {
  const started = performance.now();
  const response = await fetch(url, { method, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return {
    url,
    method,
    request: body === undefined || body === "" ? undefined : parsed(body),
    requestBinaryBytes: 0,
    status: response.status,
    response: parsed(text),
    responseBinaryBytes: 0,
    milliseconds: performance.now() - started,
  };
}

export function modelUrl(model: string, suffix = ""): string {
  return `/v2/models/${encodeURIComponent(model)}${suffix}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function errorText(response: unknown): string | undefined {
  if (typeof response !== "object" || response === null || !("error" in response)) return undefined;
  return String(response.error);
}
