import { type ExchangeRequest, type ExchangeResponse, type HeaderList, headerValue } from "@naiad/protocol";

/** Which pages of other origins may use the API. Beyond Triton, which has no CORS. */
export interface CorsOptions {
  readonly allowOrigins: "*" | readonly string[];
  /** How long a browser may remember the answer to a preflight. Default 600. */
  readonly maxAgeSeconds?: number;
}

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
      ["access-control-max-age", String(cors.maxAgeSeconds ?? 600)],
    ],
    body: new Uint8Array(0),
  };
}

/** What lets the page read a response; nothing for a page that may not. */
export function corsHeaders(request: ExchangeRequest, cors: CorsOptions): HeaderList {
  const vary = cors.allowOrigins === "*" ? [] : [["vary", "origin"] as const];
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
