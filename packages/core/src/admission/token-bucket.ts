import type { RequestRateLimit } from "@naiad/protocol";

export type RequestRate = Extract<RequestRateLimit, { readonly kind: "rate" }>;

export type TokenDecision =
  | { readonly kind: "taken"; readonly fullAtNs: number }
  | { readonly kind: "refused"; readonly retryAfterNs: number };

/**
 * Takes a token out of a bucket. All there is to know of a bucket is when it will be full, on the server's clock; a full
 * one may say any time that has passed. Refused requests take nothing.
 */
export function takeToken(
  fullAtNs: number,
  { requestsPerSecond, burst }: RequestRate,
  nowNs: number,
): TokenDecision {
  const tokenNs = 1e9 / requestsPerSecond;
  const capacityNs = burst * tokenNs;
  /** What it takes to fill it; a bucket that was larger under another limit is no emptier than empty. */
  const missingNs = Math.min(Math.max(0, fullAtNs - nowNs), capacityNs);
  const lackNs = missingNs + tokenNs - capacityNs;
  // Sums of fractions may be off by less than the clock can tell.
  if (lackNs > 1) return { kind: "refused", retryAfterNs: Math.ceil(lackNs) };
  return { kind: "taken", fullAtNs: nowNs + missingNs + tokenNs };
}
