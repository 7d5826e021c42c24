import { describe, expect, it } from "vitest";
import type { FileTree } from "./sysfs-gpus.ts";
import { readSysfsGpus } from "./sysfs-gpus.ts";

/** Files by their path under `/sys/class/drm`. */
function tree(files: Readonly<Record<string, string>>): FileTree & { readonly reads: readonly string[] } {
  const paths = new Map(Object.entries(files).map(([path, text]) => [`/sys/class/drm/${path}`, text]));
  const reads: string[] = [];
  return {
    reads,
    list: (directory) => {
      const below = [...paths.keys()].filter((path) => path.startsWith(`${directory}/`));
      return Promise.resolve([
        ...new Set(below.map((path) => path.slice(directory.length + 1).split("/")[0] ?? "")),
      ]);
    },
    read: (file) => {
      reads.push(file);
      return Promise.resolve(paths.get(file));
    },
  };
}

const AMD = {
  "card0/device/unique_id": "7f3a5d1c2b4e6a90\n",
  "card0/device/uevent": "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:03:00.0\n",
  "card0/device/power/runtime_status": "active\n",
  "card0/device/gpu_busy_percent": "37\n",
  "card0/device/mem_info_vram_total": "17163091968\n",
  "card0/device/mem_info_vram_used": "2147483648\n",
  "card0/device/hwmon/hwmon4/name": "amdgpu\n",
  "card0/device/hwmon/hwmon4/power1_average": "54000000\n",
  "card0/device/hwmon/hwmon4/power1_cap": "303000000\n",
  "card0-DP-1/status": "connected\n",
};

const INTEL = {
  "card1/device/uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:04:00.0\n",
  "card1/device/hwmon/hwmon2/name": "i915\n",
  "card1/device/hwmon/hwmon2/energy1_input": "123456789\n",
  "card1/device/hwmon/hwmon2/power1_max": "190000000\n",
};

describe("the GPUs in sysfs", () => {
  it("tell with amdgpu their load, memory and power, under their serial number", async () => {
    expect(await readSysfsGpus(tree(AMD))).toEqual([
      {
        uuid: "7f3a5d1c2b4e6a90",
        utilization: 0.37,
        memoryTotalBytes: 17_163_091_968,
        memoryUsedBytes: 2_147_483_648,
        powerUsageWatts: 54,
        powerLimitWatts: 303,
      },
    ]);
  });

  it("tell with i915 and xe their energy and the limit of their power, under their place on the bus", async () => {
    expect(await readSysfsGpus(tree(INTEL))).toEqual([
      { uuid: "0000:04:00.0", energyCounterJoules: 123.456789, powerLimitWatts: 190 },
    ]);
  });

  it("are read from newer sensors of the power too", async () => {
    const files = { "card0/device/hwmon/hwmon0/power1_input": "11000000\n" };
    expect(await readSysfsGpus(tree(files))).toEqual([{ uuid: "card0", powerUsageWatts: 11 }]);
  });

  it("are told in the order of their names, and not at all where nothing is known", async () => {
    const nvidia = { "card2/device/uevent": "DRIVER=nvidia\nPCI_SLOT_NAME=0000:01:00.0\n" };
    const gpus = await readSysfsGpus(tree({ ...nvidia, ...INTEL, ...AMD }));
    expect(gpus.map(({ uuid }) => uuid)).toEqual(["7f3a5d1c2b4e6a90", "0000:04:00.0"]);
    expect(await readSysfsGpus(tree({}))).toEqual([]);
  });

  it("are left to sleep", async () => {
    const asleep = tree({ ...AMD, "card0/device/power/runtime_status": "suspended\n" });
    expect(await readSysfsGpus(asleep)).toEqual([]);
    expect(asleep.reads.filter((file) => /busy|vram|hwmon/.test(file))).toEqual([]);
  });

  it("leave out what is no number", async () => {
    const odd = { ...AMD, "card0/device/gpu_busy_percent": "\n", "card0/device/mem_info_vram_used": "-1\n" };
    const [gpu] = await readSysfsGpus(tree(odd));
    expect(gpu).not.toHaveProperty("utilization");
    expect(gpu).not.toHaveProperty("memoryUsedBytes");
    expect(gpu).toHaveProperty("memoryTotalBytes");
  });
});
