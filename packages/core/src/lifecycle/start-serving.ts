import { modelSignature } from "@naiad/model-config";
import type { InstanceReport } from "@naiad/protocol";
import type { Backend, Clock, Logger, ModelSpec } from "../ports.ts";
import { createScheduler } from "../scheduling/create-scheduler.ts";
import type { InstanceGroup } from "../scheduling/instance-group.ts";
import { startInstanceGroup } from "../scheduling/instance-group.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
import { createModelStatistics } from "../statistics/model-statistics.ts";
import type { InstanceCreator } from "./create-with-fallback.ts";
import { createInstanceCreator } from "./create-with-fallback.ts";
import { deviceText } from "./device-text.ts";
import { readLabels } from "./read-labels.ts";
import type { ServingVersion } from "./serving-version.ts";

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
  const creator = createInstanceCreator(options);
  const group = await startInstanceGroup({
    modelName,
    version,
    placements: instances.map(({ placement }) => placement),
    create: (placement, createSignal) => creator.create(placement, createSignal),
    clock,
    logger,
    signal,
  });
  const statistics = createModelStatistics({ clock });
  const scheduler = await orDispose(group, () =>
    createScheduler({ modelName, config, signature, group, statistics, clock, logger }),
  );
  for (const { instanceName, device } of group.status()) {
    if (device === undefined) continue;
    logger.log("info", `instance ${instanceName} of model ${modelName} runs on ${deviceText(device)}`);
  }
  let retirement: Promise<void> | undefined;
  return {
    modelName,
    version,
    config,
    signature,
    labels,
    scheduler,
    statistics,
    note: reportInstances(group, creator)
      .flatMap(({ instanceName, note }) => (note === undefined ? [] : [`instance ${instanceName} ${note}`]))
      .join("; "),
    instances: () => reportInstances(group, creator),
    retire: () => (retirement ??= scheduler.stop().finally(() => group.dispose())),
  };
}

async function orDispose<Result>(group: InstanceGroup, make: () => Result): Promise<Result> {
  try {
    return make();
  } catch (thrown) {
    await group.dispose();
    throw thrown;
  }
}

function reportInstances(group: InstanceGroup, creator: InstanceCreator): readonly InstanceReport[] {
  return group.status().map((report) => {
    const notes = [creator.fallbackNote(report.instanceName), report.note].filter(
      (note) => note !== undefined,
    );
    return notes.length === 0 ? report : { ...report, note: notes.join("; ") };
  });
}
