/** Options of the server, named after tritonserver's flags. */
export interface ServerOptions {
  /** Name in the server metadata. */
  readonly id: string;
  /** Absolute URLs of the model repositories. */
  readonly modelRepositories: readonly RepositoryLocation[];
  readonly modelControlMode: "none" | "poll" | "explicit";
  /** Models to load at start in mode explicit; `*` alone means all. */
  readonly loadModels: readonly string[];
  readonly repositoryPollSecs: number;
  readonly strictReadiness: boolean;
  readonly exitOnError: boolean;
  readonly disableAutoCompleteConfig: boolean;
  readonly logVerbose: number;
  /** Default batch size of auto-completed models (Triton's `--backend-config=default-max-batch-size`). */
  readonly defaultMaxBatchSize: number;
  readonly httpMaxInputSize: number;
  /** Beyond Triton: what a browser adds. */
  readonly gpuFallback: "cpu" | "error";
  /** Whether a software WebGPU adapter counts as a GPU. */
  readonly allowSoftwareGpu: boolean;
  /** What `gpus: [1]` means on a machine with one adapter. */
  readonly foldGpus: boolean;
  /** Threads of one WASM instance; 0: as the platform allows. */
  readonly threads: number;
  readonly limits: WatchdogLimits;
}

export interface RepositoryLocation {
  readonly url: string;
  /** A manifest that the page brings itself, for hosts without an `index.json`. JSON text. */
  readonly manifest?: string;
}

/** Milliseconds that one operation of an instance may take before its worker counts as hung. */
export interface WatchdogLimits {
  readonly createMs: number;
  /** The first run compiles shaders. */
  readonly firstRunMs: number;
  readonly runMs: number;
}
