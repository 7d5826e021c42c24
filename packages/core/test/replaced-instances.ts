import { InferenceError } from "@naiad/protocol";
import type { FakeBackendOptions, FakeClock, SchedulerFixture } from "@naiad/testing";
import { createCollectingLogger, createSchedulerFixture } from "@naiad/testing";
import type { InstancePlacement } from "../src/ports.ts";
import type { startInstanceGroup } from "../src/scheduling/start-instance-group.ts";

const MS = 1_000_000;

export const BATCHING = `
  name: "m" backend: "fake" max_batch_size: 8
  input { name: "X" data_type: TYPE_FP32 dims: [1] }
  output { name: "Y" data_type: TYPE_FP32 dims: [1] }
  dynamic_batching { }`;

export function start(
  options: Partial<FakeBackendOptions> & { instances?: number; onChange?: () => void } = {},
): Promise<SchedulerFixture> {
  return createSchedulerFixture({ latencyNs: 10 * MS, ...options, config: BATCHING });
}

export function groupOptions(
  clock: FakeClock,
  count = 1,
): Omit<Parameters<typeof startInstanceGroup>[0], "create"> {
  return {
    modelName: "m",
    version: 1,
    placements: Array.from({ length: count }, (_, index): InstancePlacement => ({
      instanceName: `m_${index}`,
      device: { kind: "cpu", threads: 1 },
      workerKey: String(index),
    })),
    clock,
    logger: createCollectingLogger(),
    signal: new AbortController().signal,
  };
}

/** Of a backend that makes each instance once; the one of this name, or every one, is given up when it is lost. */
export function givingUp(lostName?: string): NonNullable<FakeBackendOptions["onCreate"]> {
  return ({ instanceName }, generation) =>
    generation > 0 && (lostName ?? instanceName) === instanceName
      ? { kind: "fail", error: new InferenceError("INTERNAL", "no") }
      : { kind: "create" };
}
