import type { Capabilities, Clock, GpuAdapter } from "@naiad/core";
import { within } from "./host/within.ts";

/** The part of `navigator` that the probe looks at; older browsers lack most of it. */
export interface ProbedNavigator {
  readonly gpu?: Pick<GPU, "requestAdapter">;
  readonly hardwareConcurrency?: number;
  /** GiB, rounded; Chromium only. */
  readonly deviceMemory?: number;
  readonly storage?: Pick<StorageManager, "estimate">;
}

export interface ProbeOptions {
  readonly navigator: ProbedNavigator;
  readonly crossOriginIsolated: boolean;
  readonly clock: Clock;
  /** How long each question may take; a question without an answer counts as "does not have it". */
  readonly timeoutMs?: number;
}

const GIB = 1024 ** 3;

/** Asks the platform once what it can do. Never rejects and always ends, whatever the platform does. */
export async function probeCapabilities(options: ProbeOptions): Promise<Capabilities> {
  const { navigator } = options;
  const [gpus, storageAvailableBytes] = await Promise.all([probeGpus(options), probeStorage(options)]);
  return {
    gpus,
    crossOriginIsolated: options.crossOriginIsolated,
    hardwareConcurrency: navigator.hardwareConcurrency ?? 1,
    wasmMemoryLimitBytes: 4 * GIB,
    ...(navigator.deviceMemory === undefined ? {} : { deviceMemoryBytes: navigator.deviceMemory * GIB }),
    ...(storageAvailableBytes === undefined ? {} : { storageAvailableBytes }),
  };
}

async function probeGpus(options: ProbeOptions): Promise<readonly GpuAdapter[]> {
  const gpu = options.navigator.gpu;
  if (gpu === undefined) return [];
  const ask = (powerPreference: GPUPowerPreference): Promise<GPUAdapter | null | undefined> =>
    within(
      options.clock,
      options.timeoutMs ?? 5000,
      // In an async function, because `requestAdapter` may also throw at once.
      (async () => gpu.requestAdapter({ powerPreference }))(),
    );
  const answers = await Promise.all([ask("high-performance"), ask("low-power")]);
  const adapters = answers.filter((adapter) => adapter !== null && adapter !== undefined);
  return distinctAdapters(adapters).map(describeAdapter);
}

/** A machine with one adapter answers both preferences with it, each time as a new object. */
function distinctAdapters(adapters: readonly GPUAdapter[]): readonly GPUAdapter[] {
  const seen = new Set<string>();
  return adapters.filter((adapter) => {
    const { vendor, architecture, device, description } = adapter.info;
    const identity = JSON.stringify([vendor, architecture, device, description, isFallback(adapter)]);
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}

function describeAdapter(adapter: GPUAdapter, index: number): GpuAdapter {
  const { info, limits } = adapter;
  return {
    index,
    vendor: info.vendor,
    architecture: info.architecture,
    description: info.description,
    isFallback: isFallback(adapter),
    features: [...adapter.features].sort(),
    maxBufferSize: limits.maxBufferSize,
    maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
    maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
  };
}

/** The flag moved from the adapter to its info; browsers have one, the other or both. */
function isFallback(adapter: GPUAdapter): boolean {
  const older: Pick<GPUAdapter, "info"> & { readonly isFallbackAdapter?: boolean } = adapter;
  const info: { readonly isFallbackAdapter?: boolean } = adapter.info;
  return info.isFallbackAdapter ?? older.isFallbackAdapter ?? false;
}

async function probeStorage(options: ProbeOptions): Promise<number | undefined> {
  const storage = options.navigator.storage;
  if (storage === undefined) return undefined;
  const estimate = await within(options.clock, options.timeoutMs ?? 5000, (async () => storage.estimate())());
  if (estimate?.quota === undefined) return undefined;
  return Math.max(0, estimate.quota - (estimate.usage ?? 0));
}
