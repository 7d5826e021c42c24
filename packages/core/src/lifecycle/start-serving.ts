import type { ModelConfig } from "@naiad/model-config";
import { modelSignature } from "@naiad/model-config";
import type { InstanceReport, MetricsConfig } from "@naiad/protocol";
import { createModelLatencies } from "../metrics/model-latencies.ts";
import type { Backend, Clock, Logger, ModelSpec } from "../ports.ts";
import { createScheduler } from "../scheduling/create-scheduler.ts";
import type { InstanceGroup } from "../scheduling/instance-group.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
import type { RateLimiter } from "../scheduling/rate-limiter.ts";
import type { ResponseCache } from "../scheduling/response-cache/response-cache.ts";
import { withResponseCache } from "../scheduling/response-cache/with-response-cache.ts";
import { readInitialStates } from "../scheduling/sequence/read-initial-states.ts";
import { startInstanceGroup } from "../scheduling/start-instance-group.ts";
import { createModelStatistics } from "../statistics/model-statistics.ts";
import { createHolders } from "./holders.ts";
import { deviceText } from "./device-text.ts";
import { readLabels } from "./read-labels.ts";
import type { ServingVersion } from "./serving-version.ts";
import { createWarmInstances } from "./warm-instances.ts";

export interface ServingOptions {
  readonly backend: Backend;
  /** With the configuration that is served. */
  readonly model: ModelSpec;
  readonly instances: readonly PlannedInstance[];
  /** Of the server; absent where it has none. */
  readonly responseCache: ResponseCache | undefined;
  /** In mode execution_count. */
  readonly rateLimiter: RateLimiter | undefined;
  readonly metrics: MetricsConfig;
  /** When the load began. */
  readonly loadStartNs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once when a version that was started is gone. */
  readonly onFreed: () => void;
  readonly signal: AbortSignal;
}

/** Creates the instances and the scheduler that feeds them. Rejects with an InferenceError and leaves nothing behind. */
export async function startServing(options: ServingOptions): Promise<ServingVersion> {
  const { backend, model, instances, rateLimiter, clock, logger, signal } = options;
  const { modelName, version, config, files } = model;
  const signature = modelSignature(config);
  const labels = await readLabels(config, files);
  const states = await readInitialStates(config, files);
  const responseCache = config.responseCache?.enable === true ? options.responseCache : undefined;
  const warmInstances = createWarmInstances({ backend, model, signature, states, logger });
  const group = await startInstanceGroup({
    ...warmInstances.wanted(instances, signal),
    modelName,
    version,
    keepsState: backend.keepsState === true,
    rateLimiter,
    clock,
    logger,
  });
  const isCached = responseCache !== undefined;
  const latencies = createModelLatencies({ metrics: options.metrics, config, isCached, clock });
  const statistics = createModelStatistics({ clock, latencies });
  const scheduling = { modelName, config, signature, states, group, statistics, clock, logger };
  const executing = await orDispose(group, () => createScheduler(scheduling));
  const scheduler = withResponseCache(executing, { ...scheduling, responseCache });
  const loadDurationNs = clock.nowNs() - options.loadStartNs;
  const holders = createHolders(() =>
    scheduler
      .stop()
      .finally(() => group.dispose())
      .finally(options.onFreed),
  );

  function reports(): readonly InstanceReport[] {
    return group.status().map((report) => {
      const notes = [warmInstances.fallbackNote(report.instanceName), report.note].filter(
        (note) => note !== undefined,
      );
      return notes.length === 0 ? report : { ...report, note: notes.join("; ") };
    });
  }

  function serving(shown: ModelConfig): ServingVersion {
    const instanceReports = reports();
    for (const { instanceName, device } of instanceReports) {
      if (device === undefined) continue;
      logger.log("info", `instance ${instanceName} of model ${modelName} runs on ${deviceText(device)}`);
    }
    return {
      modelName,
      version,
      config: shown,
      signature,
      labels,
      scheduler,
      statistics,
      latencies,
      loadDurationNs,
      note: instanceReports
        .flatMap(({ instanceName, note }) => (note === undefined ? [] : [`instance ${instanceName} ${note}`]))
        .join("; "),
      instances: reports,
      ...(!isCached && { deviceWorkers: () => group.deviceWorkers }),
      ...(backend.keepsState !== true && { isRepeatable: true }),
      checkReady: () => group.checkReady(),
      prepareUpdate: async (update, updateSignal) => {
        const prepared = await group.prepare(warmInstances.wanted(update.instances, updateSignal));
        return {
          commit: () => {
            prepared.commit();
            return serving(update.config);
          },
          abandon: () => prepared.abandon(),
        };
      },
      ...holders,
    };
  }

  return serving(config);
}

async function orDispose<Result>(group: InstanceGroup, make: () => Result): Promise<Result> {
  try {
    return make();
  } catch (thrown) {
    await group.dispose();
    throw thrown;
  }
}
