import { describe, expect, it } from "vitest";
import { NVIDIA_SMI_ARGUMENTS, parseNvidiaSmi } from "./nvidia-smi.ts";

const MIB = 1024 ** 2;

describe("the output of nvidia-smi", () => {
  it("is one GPU a line, in percent, MiB and watts", () => {
    const output =
      "GPU-8f6c1e1b-7d7a-4c3e-9b70-2f2d3d1c5a11, 87, 81559, 40213, 412.35, 700.00\n" +
      "GPU-02b3f0c4-55aa-4d1f-8a6e-94e1d7c0be22, 0, 81559, 4, 69.80, 700.00\n";
    expect(parseNvidiaSmi(output)).toEqual([
      {
        uuid: "GPU-8f6c1e1b-7d7a-4c3e-9b70-2f2d3d1c5a11",
        utilization: 0.87,
        memoryTotalBytes: 81_559 * MIB,
        memoryUsedBytes: 40_213 * MIB,
        powerUsageWatts: 412.35,
        powerLimitWatts: 700,
      },
      {
        uuid: "GPU-02b3f0c4-55aa-4d1f-8a6e-94e1d7c0be22",
        utilization: 0,
        memoryTotalBytes: 81_559 * MIB,
        memoryUsedBytes: 4 * MIB,
        powerUsageWatts: 69.8,
        powerLimitWatts: 700,
      },
    ]);
  });

  it.each(["[N/A]", "[Not Supported]", "[Unknown Error]", "[Insufficient Permissions]", "ERR!", "-1"])(
    "leaves out what stands as %s",
    (nothing) => {
      const output = `GPU-1, ${nothing}, 6144, 6, ${nothing}, ${nothing}\r\n`;
      expect(parseNvidiaSmi(output)).toEqual([
        { uuid: "GPU-1", memoryTotalBytes: 6144 * MIB, memoryUsedBytes: 6 * MIB },
      ]);
    },
  );

  it.each([
    "",
    "No devices were found\n",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    'Field "power.draw" is not a valid field to query.\n',
    "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n",
  ])("tells of no GPU in %j", (output) => {
    expect(parseNvidiaSmi(output)).toEqual([]);
  });

  it("keeps a line that broke off as far as it goes", () => {
    expect(parseNvidiaSmi("GPU-1, 12, 6144")).toEqual([
      { uuid: "GPU-1", utilization: 0.12, memoryTotalBytes: 6144 * MIB },
    ]);
  });

  it("is asked for as it is read", () => {
    expect(NVIDIA_SMI_ARGUMENTS).toEqual([
      "--query-gpu=uuid,utilization.gpu,memory.total,memory.used,power.draw,power.limit",
      "--format=csv,noheader,nounits",
    ]);
  });
});
