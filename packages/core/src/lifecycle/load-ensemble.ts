import { assertNoIssues, modelSignature, validateConfig, withTransactionPolicy } from "@naiad/model-config";
import { requestRatesOf } from "../admission/request-rates.ts";
import type { EnsemblePlan } from "../ensemble/ensemble-plan.ts";
import { planEnsemble } from "../ensemble/ensemble-plan.ts";
import { EnsembleScheduler } from "../ensemble/ensemble-scheduler.ts";
import { createModelLatencies, metricControlWarnings } from "../metrics/model-latencies.ts";
import type { ModelFiles } from "../ports.ts";
import { gpuContext } from "../scheduling/place-instances.ts";
import { withResponseCache } from "../scheduling/response-cache/with-response-cache.ts";
import { createModelStatistics } from "../statistics/model-statistics.ts";
import { createHolders } from "./holders.ts";
import type { InUseContext, VersionSource } from "./load-version.ts";
import type { OutputLabels } from "./read-labels.ts";
import { readLabels } from "./read-labels.ts";
import type { ServingVersion } from "./serving-version.ts";
import { versionFiles } from "./version-files.ts";

/** As `loadVersion`, for a model that is made of others, which serve already. It has no instances. */
export async function loadEnsemble(
  source: VersionSource,
  context: InUseContext,
  signal: AbortSignal,
): Promise<ServingVersion> {
  const { version } = source;
  const { capabilities, clock, logger, options, findServing } = context;
  const loadStartNs = clock.nowNs();
  const modelName = source.material.model.name;
  requestRatesOf(source.config, options.requestRateLimit);
  const plan = planEnsemble(source.config, (name) => findServing(name, undefined).config);
  // Whatever the configuration says.
  const config = withTransactionPolicy(source.config, { decoupled: plan.decoupled });
  assertNoIssues(
    validateConfig(config, { stage: "load", instanceGroups: gpuContext(capabilities, options) }),
  );
  for (const warning of metricControlWarnings(config)) logger.log("warning", warning);
  const files = await fetchFiles(source, context, signal);
  const labels = withInheritedLabels(await readLabels(config, files), plan, context);

  const signature = modelSignature(config);
  const responseCache = config.responseCache?.enable === true ? context.responseCache : undefined;
  const latencies = createModelLatencies({
    metrics: options.metricsConfig,
    config,
    isCached: responseCache !== undefined,
    clock,
  });
  const statistics = createModelStatistics({ clock, latencies });
  const common = { modelName, config, statistics, clock, logger };
  const ensemble = new EnsembleScheduler({ ...common, plan, signature, find: findServing });
  const scheduler = withResponseCache(ensemble, { ...common, responseCache });
  const holders = createHolders(() => scheduler.stop().finally(context.onFreed));
  return {
    modelName,
    version,
    config,
    signature,
    labels,
    scheduler,
    statistics,
    latencies,
    loadDurationNs: clock.nowNs() - loadStartNs,
    note: "",
    instances: () => [],
    prepareUpdate: () => Promise.reject(new Error("an ensemble has no instances to update")),
    ...holders,
  };
}

function fetchFiles(
  { material, version, config }: VersionSource,
  { storeUse }: InUseContext,
  signal: AbortSignal,
): Promise<ModelFiles> {
  const paths = versionFiles(material.model, version, config).map(({ path }) => path);
  return storeUse.whileWriting(signal, () => material.fetch(paths, signal));
}

/** An output without labels of its own has those of the output that it is. */
function withInheritedLabels(
  own: OutputLabels,
  { labelSources }: EnsemblePlan,
  { findServing }: InUseContext,
): OutputLabels {
  const labels = new Map(own);
  for (const [name, { modelName, modelVersion, output }] of labelSources) {
    const inherited = findServing(modelName, modelVersion).labels.get(output);
    if (inherited !== undefined) labels.set(name, inherited);
  }
  return labels;
}
