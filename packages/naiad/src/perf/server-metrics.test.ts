import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { readMetricsSample, summarizeMetrics, watchMetrics } from "./server-metrics.ts";

const text = (share: number, used: number): string => `# HELP nv_gpu_utilization x
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-a"} ${share}
nv_gpu_utilization{gpu_uuid="GPU-b",x="y"} 0.5
nv_gpu_power_usage{gpu_uuid="GPU-a"} 55.25
nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} ${used}
nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 1.6e10
nv_cpu_utilization ${share / 2}
nv_inference_count{model="m"} 5
nonsense
`;

describe("a server's metrics", () => {
  it("are summed up as perf_analyzer does, for each GPU", () => {
    const samples = [text(0.2, 100), text(0.4, 300), text(0.6, 200)].map(readMetricsSample);
    const { cpuUtilization, gpuUtilization, ...others } = summarizeMetrics(samples);
    expect(gpuUtilization["GPU-a"]).toBeCloseTo(0.4, 10);
    expect(gpuUtilization["GPU-b"]).toBe(0.5);
    expect(cpuUtilization).toBeCloseTo(0.2, 10);
    expect(others).toEqual({
      gpuPowerUsage: { "GPU-a": 55.25 },
      gpuMemoryUsed: { "GPU-a": 300 },
      gpuMemoryTotal: { "GPU-a": 1.6e10 },
    });
  });

  it("are nothing where the server tells nothing", () => {
    expect(summarizeMetrics([readMetricsSample("")])).toEqual({
      gpuUtilization: {},
      gpuPowerUsage: {},
      gpuMemoryUsed: {},
      gpuMemoryTotal: {},
    });
  });

  it("are read at once and again and again, until the end", async () => {
    const clock = createFakeClock();
    let reads = 0;
    const source = {
      intervalNs: 100e6,
      read: () => {
        reads += 1;
        return Promise.resolve(text(reads, 0));
      },
    };
    const watch = watchMetrics(source, clock, new AbortController().signal);
    await clock.advance(250e6);
    expect(await watch.stop()).toHaveLength(3);
    expect(reads).toBe(3);
    expect(clock.timerCount).toBe(0);
  });

  it("fail the measurement where they cannot be read", async () => {
    const clock = createFakeClock();
    const read = () => Promise.reject(new Error("no metrics here"));
    const watch = watchMetrics({ intervalNs: 1e6, read }, clock, new AbortController().signal);
    await clock.advance(5e6);
    await expect(watch.stop()).rejects.toThrow("no metrics here");
  });
});
