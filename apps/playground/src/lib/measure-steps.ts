import type { ModelStatistics, ModelVersionStatistics } from "naiad";
import { modelUrl } from "./v2.ts";

/** What one model of a pipeline did during a piece of work. */
export interface StepTimes {
  readonly model: string;
  readonly requests: number;
  readonly executions: number;
  /** Of all its requests together, in nanoseconds. */
  readonly queueNs: number;
  readonly computeNs: number;
}

/** What each of the models did, by the statistics extension, while the work was done. Nobody else should ask them meanwhile. */
export async function measureSteps<Result>(
  models: readonly string[],
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly steps: readonly StepTimes[] }> {
  const before = await Promise.all(models.map(statisticsOf));
  const result = await work();
  const after = await Promise.all(models.map(statisticsOf));
  const steps = models.map((model, index) => difference(model, before[index], after[index]));
  return { result, steps };
}

async function statisticsOf(model: string): Promise<ModelVersionStatistics | undefined> {
  const response = await fetch(modelUrl(model, "/stats"));
  if (!response.ok) return undefined;
  return ((await response.json()) as ModelStatistics).model_stats.at(-1);
}

function difference(
  model: string,
  before: ModelVersionStatistics | undefined,
  after: ModelVersionStatistics | undefined,
): StepTimes {
  const grown = (read: (statistics: ModelVersionStatistics) => number): number =>
    (after === undefined ? 0 : read(after)) - (before === undefined ? 0 : read(before));
  return {
    model,
    requests: grown(({ inference_stats: { success } }) => success.count),
    executions: grown(({ execution_count }) => execution_count),
    queueNs: grown(({ inference_stats: { queue } }) => queue.ns),
    computeNs: grown(
      ({ inference_stats: { compute_input, compute_infer, compute_output } }) =>
        compute_input.ns + compute_infer.ns + compute_output.ns,
    ),
  };
}
