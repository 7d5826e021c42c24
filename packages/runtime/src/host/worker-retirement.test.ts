import { describe, expect, it } from "vitest";
import { retirementOf } from "./worker-retirement.ts";
import type { WorkerUse } from "./worker-retirement.ts";

const CPU: WorkerUse = {
  device: "cpu",
  instances: 0,
  owedCalls: 0,
  releasedBytes: 0,
  deviceTensors: 0,
  releasedBytesLimit: 100,
  proven: true,
};
const GPU: WorkerUse = { ...CPU, device: "gpu" };

describe("retirementOf", () => {
  it.each([
    ["a CPU worker without instances", CPU, "terminate"],
    ["a CPU worker in use", { ...CPU, instances: 1 }, "keep"],
    ["a GPU worker without instances", GPU, "terminate-unless-used"],
    ["a GPU worker without instances whose engine never stood", { ...GPU, proven: false }, "terminate"],
    ["a GPU worker in use", { ...GPU, instances: 1, releasedBytes: 100 }, "keep"],
    ["an idle GPU worker that holds too much", { ...GPU, instances: 1, releasedBytes: 101 }, "terminate"],
    [
      "a busy GPU worker that holds too much",
      { ...GPU, instances: 1, owedCalls: 1, releasedBytes: 101 },
      "keep",
    ],
    ["a worker that still owes an answer", { ...CPU, owedCalls: 1 }, "keep"],
    ["a worker with tensors that are to be read", { ...GPU, deviceTensors: 1, releasedBytes: 101 }, "keep"],
  ] as const)("%s", (_case, use, expected) => {
    expect(retirementOf(use)).toBe(expected);
  });
});
