import { type ExchangeRequest, type ExchangeResponse, type HeaderList, headerValue } from "@naiad/protocol";

/** Which pages of other origins may use the API. Beyond Triton, which has no CORS. */
export interface CorsOptions {
  /** Pages of all others can neither read answers nor change anything. */
  readonly allowOrigins: "*" | readonly string[];
}

/** How long a browser may remember the answer to a preflight. */
const PREFLIGHT_AGE_SECS = 600;

/** The answer to a preflight, or `undefined` for every other request. */
export function answerPreflight(request: ExchangeRequest, cors: CorsOptions): ExchangeResponse | undefined {
  const method = headerValue(request.headers, "access-control-request-method");
  if (request.method !== "OPTIONS" || method === undefined) return undefined;
  if (allowedOrigin(request, cors) === undefined) return undefined;
  const requested = headerValue(request.headers, "access-control-request-headers");
  return {
    status: 204,
    headers: [
      ["access-control-allow-methods", "GET, POST"],
      ...(requested === undefined ? [] : [["access-control-allow-headers", requested] as const]),
      ["access-control-max-age", String(PREFLIGHT_AGE_SECS)],
    ],
    body: new Uint8Array(0),
  };
}

const SAFE_METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/**
 * Why a request that may change something is refused: a browser sends it for a page of another origin without asking, and only keeps
 * the answer from it. `undefined` for pages that may, and for clients that are no pages.
 */
export function foreignPage(request: ExchangeRequest, cors: CorsOptions): string | undefined {
  const { headers, method } = request;
  const origin = headerValue(headers, "origin");
  if (origin === undefined || SAFE_METHODS.includes(method)) return undefined;
  if (allowedOrigin(request, cors) !== undefined || isSameOrigin(origin, request)) return undefined;
  return `pages of origin '${origin}' may not use this server. Use --http-cors-allow-origin to let them.`;
}

/** Also behind a proxy that has changed the host. */
function isSameOrigin(origin: string, { headers }: ExchangeRequest): boolean {
  if (headerValue(headers, "sec-fetch-site") === "same-origin") return true;
  return origin.replace(/^[a-z]+:\/\//, "") === headerValue(headers, "host");
}

/** What lets the page read a response; nothing for a page that may not. */
export function corsHeaders(request: ExchangeRequest, cors: CorsOptions): HeaderList {
  const vary =
    cors.allowOrigins === "*" || cors.allowOrigins.length === 0 ? [] : [["vary", "origin"] as const];
  const origin = allowedOrigin(request, cors);
  if (origin === undefined) return vary;
  return [
    ...vary,
    ["access-control-allow-origin", origin],
    ["access-control-expose-headers", EXPOSED_HEADERS.join(", ")],
  ];
}

const EXPOSED_HEADERS: readonly string[] = [
  "inference-header-content-length",
  "content-encoding",
  "content-length",
  "retry-after",
];

function allowedOrigin({ headers }: ExchangeRequest, { allowOrigins }: CorsOptions): string | undefined {
  const origin = headerValue(headers, "origin");
  if (origin === undefined) return undefined;
  if (allowOrigins === "*") return "*";
  return allowOrigins.includes(origin) ? origin : undefined;
}
