import type { RateLimitResource } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InstancePlacement } from "../ports.ts";

/** Units of one pool that an instance holds while it executes. */
export interface PoolNeed {
  readonly pool: Pool;
  readonly count: number;
}

export interface Pool {
  /** Equal for the same pool alone. */
  readonly key: string;
  readonly resource: string;
  /** `global`: one pool for all devices. */
  readonly device: number | "global";
}

/** By key of the pool: units. */
export type PoolUnits = ReadonlyMap<string, number>;

/**
 * What the instance's group asks for in `rate_limiter`, one need for each pool. A resource that is not global has a pool
 * on each device; as in Triton what runs on the CPU counts as device 0, and of two entries of one name the last counts.
 */
export function poolNeeds({ device, rateLimit }: InstancePlacement): readonly PoolNeed[] {
  const needs = new Map<string, PoolNeed>();
  for (const { name, global, count } of rateLimit?.resources ?? []) {
    const place = global ? "global" : device.kind === "gpu" ? device.adapter : 0;
    const key = `${String(place)} ${name}`;
    needs.set(key, { pool: { key, resource: name, device: place }, count });
  }
  return [...needs.values()];
}

/**
 * How large each pool is that any of the instances needs: as large as the largest need, or as `given` says. As in Triton a
 * resource that `given` does not name has no units as soon as it names any, and for a global one the device in `given`
 * means nothing. INVALID_ARG, with Triton's texts, where an instance could never have its turn or a resource is both
 * global and not.
 */
export function sizePools(
  instances: Iterable<readonly PoolNeed[]>,
  given: readonly RateLimitResource[],
): PoolUnits {
  const largest = new Map<string, PoolNeed>();
  for (const needs of instances) {
    for (const need of needs) {
      if ((largest.get(need.pool.key)?.count ?? -1) < need.count) largest.set(need.pool.key, need);
    }
  }
  const sizes = new Map<string, number>();
  for (const { pool, count } of largest.values()) {
    const size = given.length === 0 ? count : givenUnits(pool, given);
    if (size < count) {
      throw new InferenceError(
        "INVALID_ARG",
        `Resource count for "${pool.resource}" is limited to ${size} which will prevent scheduling of one or more model ` +
          `instances, the minimum required count is ${count}`,
      );
    }
    sizes.set(pool.key, size);
  }
  refuseMixed([...largest.values()].map(({ pool }) => pool));
  return sizes;
}

/** Of several entries for one resource and device the smallest counts, of entries for all devices and for one the largest. */
function givenUnits(pool: Pool, given: readonly RateLimitResource[]): number {
  const smallest = new Map<number | undefined, number>();
  for (const { name, count, device } of given) {
    const applies = pool.device === "global" || device === undefined || device === pool.device;
    if (name !== pool.resource || !applies) continue;
    smallest.set(device, Math.min(smallest.get(device) ?? count, count));
  }
  return Math.max(0, ...smallest.values());
}

function refuseMixed(pools: readonly Pool[]): void {
  const globals = new Set(pools.filter(({ device }) => device === "global").map(({ resource }) => resource));
  const mixed = pools.find(({ device, resource }) => device !== "global" && globals.has(resource));
  if (mixed === undefined) return;
  throw new InferenceError(
    "INVALID_ARG",
    `Resource "${mixed.resource}" is present as both global and device-specific resource in the model configuration.`,
  );
}
