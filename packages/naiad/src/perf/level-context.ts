import type { ComposingModel, PerfModel } from "./perf-model.ts";
import type { RequestSource } from "./request-source.ts";
import type { Measurement } from "./run-measurement.ts";

/** What a level is measured with. */
export interface LevelContext extends Measurement {
  readonly model: PerfModel;
  readonly source: RequestSource;
  /** Models whose statistics are told too. */
  readonly composing: readonly ComposingModel[];
}
