import type { ResponseCacheCounters } from "../scheduling/response-cache/response-cache.ts";
import type { MetricFamily } from "./metric-family.ts";
import type { RequestBytes } from "./metric-sources.ts";
import { gauge } from "./single-gauge.ts";

/** Of the response cache as a whole: gauges, as those of Triton's `local` cache are. */
export function cacheFamilies(counters: ResponseCacheCounters | undefined): readonly MetricFamily[] {
  if (counters === undefined) return [];
  const { usedBytes, byteSize, lookupNs, insertionNs } = counters;
  return [
    gauge("nv_cache_util", "Cache utilization [0.0 - 1.0]", byteSize === 0 ? 0 : usedBytes / byteSize),
    gauge("nv_cache_num_entries", "Number of responses stored in response cache", counters.entries),
    gauge("nv_cache_num_hits", "Number of cache hits in response cache", counters.hits),
    gauge("nv_cache_num_misses", "Number of cache misses in response cache", counters.misses),
    gauge("nv_cache_num_lookups", "Number of cache lookups in response cache", counters.lookups),
    gauge("nv_cache_num_evictions", "Number of cache evictions in response cache", counters.evictions),
    gauge(
      "nv_cache_lookup_duration",
      "Total cache lookup duration (hit and miss), in microseconds",
      Math.floor(lookupNs / 1000),
    ),
    gauge(
      "nv_cache_insertion_duration",
      "Total cache insertion duration, in microseconds",
      Math.floor(insertionNs / 1000),
    ),
  ];
}

export function requestByteFamilies(bytes: RequestBytes | undefined): readonly MetricFamily[] {
  if (bytes === undefined) return [];
  return [
    gauge("naiad_inflight_bytes", "Bytes of requests accepted and not yet answered", bytes.inflightBytes),
    gauge(
      "naiad_max_inflight_bytes",
      "Bytes of requests beyond which new ones are refused",
      bytes.maxInflightBytes,
    ),
  ];
}
