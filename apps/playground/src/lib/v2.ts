/**
 * Triton's HTTP API with nothing but `fetch`: what any page can do without our SDK. Tensors travel in the binary tensor
 * extension: a JSON head, then the tensors' bytes in order.
 */
export interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;
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
  /** Those of datatype FP32. */
  readonly outputs: ReadonlyMap<string, Float32Array>;
  /** Those of datatype BYTES. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
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

/** Runs a model on inputs of floats or bytes; `parameters` are those of the request. Throws `V2Error` for an error answer. */
export async function infer(
  model: string,
  inputs: readonly InferInput[],
  parameters: Readonly<Record<string, string | boolean>> = {},
): Promise<InferResult> {
  const head = {
    inputs: inputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: data.byteLength },
    })),
    parameters: { ...parameters, binary_data_output: true },
  };
  const headBytes = new TextEncoder().encode(JSON.stringify(head));
  const url = modelUrl(model, "/infer");
  const started = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "Inference-Header-Content-Length": String(headBytes.length) },
    body: new Blob([headBytes, ...inputs.map((input) => input.data)]),
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
  const texts = new Map<string, readonly string[]>();
  const shapes = new Map<string, readonly number[]>();
  let offset = headLength;
  for (const output of (answer as { readonly outputs: readonly InferOutput[] }).outputs) {
    const size = output.parameters?.binary_data_size ?? 0;
    const content = body.slice(offset, offset + size);
    if (output.datatype === "BYTES") texts.set(output.name, decodeTexts(content));
    else outputs.set(output.name, new Float32Array(content.buffer));
    shapes.set(output.name, output.shape);
    offset += size;
  }
  return { outputs, texts, shapes, exchange };
}

/** Each text stands behind its length in bytes, a 32-bit number. */
function decodeTexts(bytes: Uint8Array<ArrayBuffer>): readonly string[] {
  const view = new DataView(bytes.buffer);
  const texts: string[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const start = offset + 4;
    offset = start + view.getUint32(offset, true);
    texts.push(new TextDecoder().decode(bytes.subarray(start, offset)));
  }
  return texts;
}

/**
 * An infer request whose JSON part is the text of an editor, sent exactly as it stands. Inputs that it declares with
 * `binary_data_size` get that many zero bytes. Throws `V2Error` for an error answer.
 */
export async function inferText(model: string, text: string): Promise<{ readonly exchange: Exchange }> {
  const url = modelUrl(model, "/infer");
  const head = new TextEncoder().encode(text);
  const zeros = new Uint8Array(binarySize(parsed(text)));
  const started = performance.now();
  const response = await fetch(url, {
    method: "POST",
    ...(zeros.length > 0 && { headers: { "Inference-Header-Content-Length": String(head.length) } }),
    body: new Blob([head, zeros]),
  });
  const body = new Uint8Array(await response.arrayBuffer());
  const headLength = Number(response.headers.get("Inference-Header-Content-Length") ?? body.length);
  const exchange: Exchange = {
    url,
    method: "POST",
    request: parsed(text),
    requestBinaryBytes: zeros.length,
    status: response.status,
    response: parsed(new TextDecoder().decode(body.subarray(0, headLength))),
    responseBinaryBytes: body.length - headLength,
    milliseconds: performance.now() - started,
  };
  if (!response.ok) throw new V2Error(exchange);
  return { exchange };
}

/** Sum of what the inputs of a request declare as binary; 0 for a text that is no request. */
function binarySize(request: unknown): number {
  const { inputs } = (request ?? {}) as { readonly inputs?: unknown };
  if (!Array.isArray(inputs)) return 0;
  return inputs.reduce<number>(
    (sum, input: { readonly parameters?: { readonly binary_data_size?: unknown } } | null) => {
      const size = Number(input?.parameters?.binary_data_size ?? 0);
      return sum + (Number.isSafeInteger(size) && size > 0 ? size : 0);
    },
    0,
  );
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
