import { join } from "node:path/posix";
import type { GpuReading } from "./gpu-reading.ts";
import { knownOf } from "./gpu-reading.ts";

/** The part of a file system that is looked at. What cannot be read is as if it were not there. */
export interface FileTree {
  list(directory: string): Promise<readonly string[]>;
  read(file: string): Promise<string | undefined>;
}

const CARDS = "/sys/class/drm";

/**
 * The GPUs of which Linux tells something: amdgpu's load (`gpu_busy_percent`), memory (`mem_info_vram_*`) and power, and the
 * energy and limits of i915 and xe. NVIDIA's driver tells nothing there.
 */
export async function readSysfsGpus(tree: FileTree): Promise<readonly GpuReading[]> {
  const cards = (await tree.list(CARDS)).filter((name) => /^card\d+$/.test(name)).sort();
  const readings = await Promise.all(cards.map((card) => readCard(tree, card)));
  // Beside its name.
  return readings.filter((reading) => Object.keys(reading).length > 1);
}

async function readCard(tree: FileTree, card: string): Promise<GpuReading> {
  const device = join(CARDS, card, "device");
  const text = async (file: string): Promise<string | undefined> =>
    (await tree.read(join(device, file)))?.trim();
  const number = async (file: string): Promise<number | undefined> => numberOf(await text(file));
  const uuid = await nameOf(card, text);
  // To look at a device that sleeps would wake it.
  if ((await text("power/runtime_status")) === "suspended") return { uuid };
  const [hwmon] = (await tree.list(join(device, "hwmon"))).filter((name) => /^hwmon\d+$/.test(name));
  const sensor = async (...names: readonly string[]): Promise<number | undefined> => {
    if (hwmon === undefined) return undefined;
    for (const name of names) {
      const micro = await number(`hwmon/${hwmon}/${name}`);
      if (micro !== undefined) return micro / 1e6;
    }
    return undefined;
  };
  const busyPercent = await number("gpu_busy_percent");
  return knownOf<GpuReading>({
    uuid,
    utilization: busyPercent === undefined ? undefined : busyPercent / 100,
    memoryTotalBytes: await number("mem_info_vram_total"),
    memoryUsedBytes: await number("mem_info_vram_used"),
    powerUsageWatts: await sensor("power1_average", "power1_input"),
    // amdgpu's name, and that of Intel's drivers.
    powerLimitWatts: await sensor("power1_cap", "power1_max"),
    energyCounterJoules: await sensor("energy1_input"),
  });
}

/** The serial number where there is one, else the place on the bus. */
async function nameOf(card: string, text: (file: string) => Promise<string | undefined>): Promise<string> {
  const id = await text("unique_id");
  if (id !== undefined && id !== "") return id;
  const [, slot] = /^PCI_SLOT_NAME=(.+)$/m.exec((await text("uevent")) ?? "") ?? [];
  return slot ?? card;
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
