import { describe, expect, it } from "vitest";
import type { InstanceDevice, InstanceRateLimit } from "../ports.ts";
import type { PoolNeed } from "./rate-limit-pools.ts";
import { poolNeeds, sizePools } from "./rate-limit-pools.ts";

const CPU: InstanceDevice = { kind: "cpu", threads: 1 };
const gpu = (adapter: number): InstanceDevice => ({ kind: "gpu", adapter });

/** `name count`, or `name count global`. */
function needs(device: InstanceDevice, ...resources: readonly string[]): readonly PoolNeed[] {
  const rateLimit: InstanceRateLimit = {
    priority: 1,
    resources: resources.map((text) => {
      const [name = "", count = "0", scope] = text.split(" ");
      return { name, count: Number(count), global: scope === "global" };
    }),
  };
  return poolNeeds({ instanceName: "m_0", workerKey: "w", device, rateLimit });
}

const shown = (sizes: ReadonlyMap<string, number>): unknown => Object.fromEntries(sizes);

describe("poolNeeds", () => {
  it("needs nothing without a rate_limiter", () => {
    expect(poolNeeds({ instanceName: "m_0", workerKey: "w", device: CPU })).toEqual([]);
  });

  it("counts the CPU as device 0, and the last of two entries of one name", () => {
    expect(needs(CPU, "r 3", "r 1")).toEqual(needs(gpu(0), "r 1"));
    expect(needs(gpu(1), "r 1")).not.toEqual(needs(gpu(0), "r 1"));
    expect(needs(gpu(1), "r 1 global")).toEqual(needs(gpu(0), "r 1 global"));
  });
});

describe("sizePools", () => {
  it("makes each pool as large as the largest need, on each device by itself", () => {
    const instances = [
      needs(gpu(0), "r 4"),
      needs(gpu(0), "r 2", "s 2 global"),
      needs(gpu(1), "r 3", "s 1 global"),
    ];
    expect(shown(sizePools(instances, []))).toEqual({ "0 r": 4, "1 r": 3, "global s": 2 });
  });

  it.each([
    ["for every device", [{ name: "r", count: 6 }], 6],
    ["for this device", [{ name: "r", count: 5, device: 0 }], 5],
    [
      "for both, the larger",
      [
        { name: "r", count: 6 },
        { name: "r", count: 5, device: 0 },
      ],
      6,
    ],
    [
      "twice, the smaller",
      [
        { name: "r", count: 6 },
        { name: "r", count: 5 },
      ],
      5,
    ],
  ])("takes what is given %s", (_name, given, size) => {
    expect(shown(sizePools([needs(CPU, "r 4")], given))).toEqual({ "0 r": size });
  });

  it("ignores the device that is given for a global resource", () => {
    const given = [{ name: "s", count: 2, device: 10 }];
    expect(shown(sizePools([needs(CPU, "s 2 global")], given))).toEqual({ "global s": 2 });
  });

  it.each([
    ["too few", [{ name: "r", count: 3 }], 3],
    ["on another device", [{ name: "r", count: 10, device: 10 }], 0],
    ["of another resource", [{ name: "R", count: 10 }], 0],
  ])("refuses an instance that could never execute: %s", (_name, given, limit) => {
    expect(() => sizePools([needs(gpu(0), "r 2"), needs(gpu(0), "r 4")], given)).toThrow(
      `Resource count for "r" is limited to ${limit} which will prevent scheduling of one or more model instances, ` +
        "the minimum required count is 4",
    );
  });

  it("refuses a resource that is global for one instance and not for another", () => {
    expect(() => sizePools([needs(CPU, "r 1"), needs(gpu(0), "r 1 global")], [])).toThrow(
      'Resource "r" is present as both global and device-specific resource in the model configuration.',
    );
  });
});
