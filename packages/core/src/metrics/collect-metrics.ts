import type { MetricFamily } from "./metric-family.ts";
import type { MetricSources } from "./metric-sources.ts";
import { machineFamilies } from "./machine-families.ts";
import { modelFamilies } from "./model-families.ts";
import { adapterFamilies, placeFamilies } from "./place-families.ts";
import { cacheFamilies, requestByteFamilies } from "./server-families.ts";
import { viewVersion } from "./version-view.ts";

/** Everything there is to tell now. Nothing is counted for the metrics alone but the distributions of latencies. */
export function collectMetrics(sources: MetricSources): readonly MetricFamily[] {
  const { versions, latencyCounters, responseCache, requestBytes, adapters, place, machine, custom } =
    sources;
  return [
    ...modelFamilies(versions.map(viewVersion), {
      latencyCounters,
      responseCache: responseCache === undefined ? "none" : "there",
    }),
    ...cacheFamilies(responseCache),
    ...requestByteFamilies(requestBytes),
    ...adapterFamilies(adapters),
    ...placeFamilies(place),
    ...machineFamilies(machine),
    ...(custom?.families() ?? []),
  ];
}
