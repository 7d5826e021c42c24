import type { Capabilities, DeviceReport } from "./capabilities.ts";
import type { OperationTypes, StreamOperationTypes } from "./operations.ts";
import type { ServerOptions } from "./server-options.ts";
import type { TraceNote } from "./trace.ts";

export type LogLevel = "verbose" | "info" | "warning" | "error";

/** What a page learns about the host that serves it. */
export interface HostInfo {
  readonly hostId: string;
  readonly wireVersion: number;
  readonly options: ServerOptions;
  readonly capabilities: Capabilities;
}

/** What the host offers on a client port, besides the operations themselves. The shape is a channel contract of `@naiad/link`. */
export interface ClientContract {
  readonly calls: {
    readonly [Name in keyof OperationTypes]: {
      readonly input: OperationTypes[Name]["input"];
      readonly output: OperationTypes[Name]["output"];
    };
  } & {
    readonly hostInfo: { readonly input: Record<never, never>; readonly output: HostInfo };
    /** Instances of every loaded model and what they run on. */
    readonly instances: { readonly input: Record<never, never>; readonly output: readonly InstanceReport[] };
  };
  readonly streams: {
    readonly [Name in keyof StreamOperationTypes]: {
      readonly input: StreamOperationTypes[Name]["input"];
      readonly item: StreamOperationTypes[Name]["item"];
    };
  } & {
    /** The log lines kept so far; then progress, model states and log lines as they come. */
    readonly events: { readonly input: Record<never, never>; readonly item: ServerEvent };
    /** The traces kept so far; then those that come, until the server has stopped. */
    readonly traces: { readonly input: Record<never, never>; readonly item: TraceNote };
  };
  readonly notes: Record<never, never>;
}

export type ServerEvent =
  | {
      readonly kind: "progress";
      readonly modelName: string;
      readonly path: string;
      readonly phase: "download" | "verify" | "create";
      readonly loadedBytes: number;
      readonly totalBytes: number;
      /** Of all files of this load together. */
      readonly modelLoadedBytes: number;
      readonly modelTotalBytes: number;
    }
  | {
      readonly kind: "model";
      readonly modelName: string;
      readonly version: string;
      readonly state: string;
      readonly reason: string;
    }
  | { readonly kind: "log"; readonly level: LogLevel; readonly message: string; readonly epochMs: number };

export interface InstanceReport {
  readonly modelName: string;
  readonly version: string;
  readonly instanceName: string;
  readonly state: "loading" | "ready" | "lost";
  readonly device?: DeviceReport;
  readonly note?: string;
  readonly executionCount: number;
  /** Outputs in which NaN or an infinity was seen, large ones sampled; absent where there was none. */
  readonly nonFiniteOutputs?: number;
  /** Tensors that its executions have read from the GPU's memory; absent where there was none. */
  readonly readbacks?: number;
  /** Outputs of its that lie in the GPU's memory for other steps of ensembles; absent where there is none. */
  readonly deviceTensors?: number;
  /** What those take there. */
  readonly deviceBytes?: number;
  /** How many times its worker was replaced. */
  readonly replacements: number;
}
