import { InferenceError } from "@naiad/protocol";
import type { MetricsSource } from "../../perf/server-metrics.ts";
import { withinPatience } from "../../sdk/within-patience.ts";

/** A page of metrics is there at once, or is not to be had. */
const LIMIT_MS = 10_000;

export interface MetricsPage {
  readonly url: string;
  readonly intervalMs: number;
  /** Default: 10 s. */
  readonly limitMs?: number;
}

/** Reads a page in Prometheus' format. `read` rejects with UNAVAILABLE and the reason where there is none in time. */
export function metricsSource({ intervalMs, limitMs = LIMIT_MS, url }: MetricsPage): MetricsSource {
  const page = async (signal: AbortSignal): Promise<string> => {
    const response = await fetch(url, { signal });
    if (response.ok) return await response.text();
    throw new Error(`HTTP status ${response.status}`);
  };
  const refusal = (): string => `no answer within ${limitMs / 1000} seconds`;
  return {
    intervalNs: intervalMs * 1e6,
    read: async (signal) => {
      try {
        return await withinPatience(page, { signal, limitMs, refusal });
      } catch (error) {
        signal.throwIfAborted();
        const reason = error instanceof Error ? error.message : String(error);
        throw new InferenceError("UNAVAILABLE", `no metrics at ${url}: ${reason}`, { cause: error });
      }
    },
  };
}
