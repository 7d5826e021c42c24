import { InferenceError } from "@naiad/protocol";

/** A device of our own: the engine neither lets an adapter be chosen nor reports what goes wrong on it. */
export interface GpuContext {
  readonly device: GPUDevice;
  /** Vendor and architecture, as far as the browser tells. */
  readonly adapter: string;
  readonly supportsFp16: boolean;
  /**
   * Validation and memory errors since the last call. Such an error belongs to no promise: the operation that caused it
   * finishes as if nothing had happened, with a result that means nothing.
   */
  takeErrors(): readonly string[];
  /** Resolves with the reason when the device is gone; everything on it is too. */
  readonly lost: Promise<string>;
}

/** Features the engine's kernels make use of. */
const WANTED_FEATURES: readonly GPUFeatureName[] = ["shader-f16", "subgroups", "timestamp-query"];

/**
 * Adapter 0 is the high-performance one, 1 the low-power one. UNSUPPORTED where there is none: another kind of instance
 * may serve.
 */
export async function requestGpu(gpu: GPU | undefined, adapterIndex: number): Promise<GpuContext> {
  const adapter = await gpu?.requestAdapter({
    powerPreference: adapterIndex === 0 ? "high-performance" : "low-power",
  });
  if (adapter === undefined || adapter === null) {
    throw new InferenceError("UNSUPPORTED", "WebGPU is not available: the browser gives no GPU adapter");
  }
  const device = await requestDevice(adapter);
  const errors: string[] = [];
  device.addEventListener("uncapturederror", (event) => {
    event.preventDefault();
    errors.push(event.error.message);
  });
  return {
    device,
    adapter: adapterName(adapter.info),
    supportsFp16: device.features.has("shader-f16"),
    takeErrors: () => errors.splice(0),
    lost: device.lost.then(({ reason, message }) =>
      message === "" ? `the GPU device was lost (${reason})` : `the GPU device was lost: ${message}`,
    ),
  };
}

async function requestDevice(adapter: GPUAdapter): Promise<GPUDevice> {
  try {
    return await adapter.requestDevice({
      label: "naiad",
      requiredFeatures: WANTED_FEATURES.filter((feature) => adapter.features.has(feature)),
      requiredLimits: allLimits(adapter.limits),
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new InferenceError("UNSUPPORTED", `WebGPU is not available: ${reason}`, { cause });
  }
}

/** Everything the adapter can do: a device has only the small guaranteed limits otherwise. */
function allLimits(limits: GPUSupportedLimits): Record<string, number> {
  const all: Record<string, number> = {};
  // The limits are getters of the prototype.
  for (const name in limits) {
    const value: unknown = Reflect.get(limits, name);
    if (typeof value === "number") all[name] = value;
  }
  return all;
}

function adapterName({ vendor, architecture, description }: GPUAdapterInfo): string {
  const name = [vendor, architecture].filter((part) => part !== "").join(" ");
  return name === "" ? description || "unknown" : name;
}
