/** How many requests are accepted: a bucket of `burst` tokens, one for each request, that fills steadily. */
export type RequestRateLimit =
  | { readonly kind: "none" }
  | { readonly kind: "rate"; readonly requestsPerSecond: number; readonly burst: number };

/**
 * Reads `<requests per second>[:<burst>]`, for example `20`, `0.5:1` or `100:10`; `off` is no limit. Without a burst it is
 * as many requests as come in a second, at least one. Throws a TypeError for anything else.
 */
export function parseRequestRateLimit(text: string): RequestRateLimit {
  if (text === "off") return { kind: "none" };
  const { rate = "", burst } = FORM.exec(text)?.groups ?? {};
  const requestsPerSecond = Number(rate);
  const limit = {
    kind: "rate",
    requestsPerSecond,
    burst: burst === undefined ? Math.max(1, Math.ceil(requestsPerSecond)) : Number(burst),
  } as const;
  if (limit.requestsPerSecond > 0 && limit.burst > 0) return limit;
  throw new TypeError(
    `request rate limit '${text}' is neither 'off' nor of the form <requests per second>[:<burst>], each above 0`,
  );
}

const FORM = /^(?<rate>\d{1,9}(?:\.\d{1,9})?)(?::(?<burst>\d{1,9}))?$/;
