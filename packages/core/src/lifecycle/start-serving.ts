import type { ModelConfig } from "@naiad/model-config";
import { modelSignature } from "@naiad/model-config";
import type { InstanceReport } from "@naiad/protocol";
import type { Backend, Clock, InstancePlacement, Logger, ModelInstance, ModelSpec } from "../ports.ts";
import { createScheduler } from "../scheduling/create-scheduler.ts";
import type { InstanceGroup, WantedInstances } from "../scheduling/instance-group.ts";
import { startInstanceGroup } from "../scheduling/instance-group.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
import { createModelStatistics } from "../statistics/model-statistics.ts";
import type { InstanceCreator } from "./create-with-fallback.ts";
import { createInstanceCreator } from "./create-with-fallback.ts";
import { deviceText } from "./device-text.ts";
import { readLabels } from "./read-labels.ts";
import type { ServingVersion } from "./serving-version.ts";
import { warmUp } from "./warm-up.ts";
import { warmUpSamples } from "./warm-up-samples.ts";

export interface ServingOptions {
  readonly backend: Backend;
  /** With the configuration that is served. */
  readonly model: ModelSpec;
  readonly instances: readonly PlannedInstance[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Creates the instances and the scheduler that feeds them. Rejects with an InferenceError and leaves nothing behind. */
export async function startServing(options: ServingOptions): Promise<ServingVersion> {
  const { model, instances, clock, logger, signal } = options;
  const { modelName, version, config, files } = model;
  const signature = modelSignature(config);
  const labels = await readLabels(config, files);
  /** By name of the instance, the one that made it. */
  const creators = new Map<string, InstanceCreator>();

  function wanted(
    planned: readonly PlannedInstance[],
    creator: InstanceCreator,
    wantedSignal: AbortSignal,
  ): WantedInstances {
    return {
      placements: planned.map(({ placement }) => placement),
      create: async (placement, createSignal) => {
        creators.set(placement.instanceName, creator);
        return createWarm(placement, creator, createSignal);
      },
      signal: wantedSignal,
    };
  }

  async function createWarm(
    placement: InstancePlacement,
    creator: InstanceCreator,
    createSignal: AbortSignal,
  ): Promise<ModelInstance> {
    const samples = await warmUpSamples({ config, signature, files });
    const instance = await creator.create(placement, createSignal);
    const { instanceName } = placement;
    const { maxBatchSize } = signature;
    await warmUp(instance, { samples, modelName, instanceName, maxBatchSize, logger, signal: createSignal });
    return instance;
  }

  const group = await startInstanceGroup({
    ...wanted(instances, createInstanceCreator(options), signal),
    modelName,
    version,
    clock,
    logger,
  });
  const statistics = createModelStatistics({ clock });
  const scheduler = await orDispose(group, () =>
    createScheduler({ modelName, config, signature, group, statistics, clock, logger }),
  );
  let retirement: Promise<void> | undefined;

  function reports(): readonly InstanceReport[] {
    return group.status().map((report) => {
      const notes = [
        creators.get(report.instanceName)?.fallbackNote(report.instanceName),
        report.note,
      ].filter((note) => note !== undefined);
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
      note: instanceReports
        .flatMap(({ instanceName, note }) => (note === undefined ? [] : [`instance ${instanceName} ${note}`]))
        .join("; "),
      instances: reports,
      prepareUpdate: async (update, updateSignal) => {
        const creator = createInstanceCreator({ ...options, instances: update.instances });
        const prepared = await group.prepare(wanted(update.instances, creator, updateSignal));
        return {
          commit: () => {
            prepared.commit();
            return serving(update.config);
          },
          abandon: () => prepared.abandon(),
        };
      },
      retire: () => (retirement ??= scheduler.stop().finally(() => group.dispose())),
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
