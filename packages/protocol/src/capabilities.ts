export interface GpuAdapter {
  /** 0 is the high-performance adapter, 1 the low-power one when it is really another. */
  readonly index: number;
  readonly vendor: string;
  readonly architecture: string;
  readonly description: string;
  /** A software adapter: counts as a GPU only where an option says so. */
  readonly isFallback: boolean;
  readonly features: readonly string[];
  readonly maxBufferSize: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
}

/** One probe of the platform, taken when the server starts. */
export interface Capabilities {
  readonly gpus: readonly GpuAdapter[];
  readonly crossOriginIsolated: boolean;
  readonly hardwareConcurrency: number;
  /** Hard limit of one WASM instance's memory: 4 GiB. */
  readonly wasmMemoryLimitBytes: number;
  /** Approximate memory of the device, where the platform tells. */
  readonly deviceMemoryBytes?: number;
  /** Bytes that may still be stored, where the platform tells. */
  readonly storageAvailableBytes?: number;
}

/** What an instance really runs on. */
export interface DeviceReport {
  readonly executionProvider: "wasm" | "webgpu" | "webnn" | "javascript" | "other";
  /** Which build of the engine: `wasm`, `jspi`, `asyncify`, `javascript`. */
  readonly build: string;
  readonly adapter?: string;
  readonly threads: number;
}
