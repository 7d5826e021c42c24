import type {
  CustomMetric,
  CustomMetricFamily,
  CustomMetricUpdate,
  ExecutionTimes,
  InstanceDevice,
  InstanceOutcome,
  InstanceResponse,
  InstanceRequest,
  ModelFile,
  StoreLocation,
} from "@naiad/core";
import type { CorsOptions } from "@naiad/http";
import type { EmptyContract } from "@naiad/link";
import type {
  DeviceReport,
  HeaderList,
  HostInfo,
  InferenceRequest,
  InferenceResponse,
  InferenceStreamResponse,
  LogLevel,
  ModelReference,
  RepositoryModelLoad,
  RepositoryModelUnload,
  ServerOptions,
  WireError,
} from "@naiad/protocol";

/** Everything that crosses between page, gateway, host and instance workers. Plain data only. */

/** Raised whenever a message changes its meaning: an old service worker outlives the deploy that brought it. */
export const WIRE_VERSION: number = 1;

// ---------------------------------------------------------------------------------------------------------------
// Page -> host worker: control, over Comlink

/** Absolute URLs of the prebuilt files. */
export interface AssetUrls {
  readonly host: string;
  readonly instanceWasm: string;
  readonly instanceJspi: string;
  readonly instanceAsyncify: string;
  readonly instanceJavascript: string;
  /** Folder with onnxruntime-web's `.mjs` and `.wasm` files, with a trailing slash. */
  readonly ort: string;
}

export interface HostStart {
  readonly wireVersion: number;
  readonly hostId: string;
  readonly options: ServerOptions;
  readonly assets: AssetUrls;
  /** Names of the databases: one server per origin and base path. */
  readonly storageName: string;
  /**
   * Where the service worker answers from the host with files of models, with a slash at its end. Absent where there is no
   * service worker.
   */
  readonly filesUrl?: string;
  /** The host after which this one comes: its models are loaded again. Absent for the first of a page's life. */
  readonly successorOf?: string;
  /** Pages of other origins that may use the HTTP API. Absent: none is told that it may. */
  readonly cors?: CorsOptions;
}

/** Exposed by the host worker over Comlink to the page that owns it. */
export interface HostControl {
  /** Probes the platform and builds the server; ports may be attached from then on. Models load in the background. */
  start(start: HostStart): Promise<HostInfo>;
  /** Resolves when the models of the start have been loaded; rejects (Triton's text) where `exitOnError` makes a failure fatal. */
  ready(): Promise<void>;
  /** Serves a port until it says goodbye or `peerId`'s lock is released. */
  attach(kind: "client" | "gateway", peerId: string, port: MessagePort): Promise<void>;
  /**
   * Connects to the command that started the browser and serves its ports over that, one exchange a stream. Resolves when
   * the connection stands; who made it may ask from then on.
   */
  connectTunnel(url: string): Promise<void>;
  /** Writes a line of the page's into the log. */
  log(level: LogLevel, message: string): Promise<void>;
  /** Drains and ends everything. Resolves when no worker is left. */
  stop(): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------------------
// Tunnel: the command `naiad serve` -> host, over a WebSocket

/**
 * What is spoken in an exchange of the tunnel. `http`, `grpc` and `metrics` are what comes in at a port. `files` is
 * what a worker of the browser asks the command for and only the host has: files of models that are served. `control`
 * has the targets `/ready` (answered when the models of the start are loaded), `/stop` (answered when the host has
 * drained), `/machine` (the body: `MachineMetrics`), `/log` (lines of JSON: level, message, epochMs) and `/index`.
 * `traces` is answered with a line of JSON for each note about the server's traces, until the host has drained.
 */
export type TunnelProtocol = "http" | "grpc" | "metrics" | "files" | "control" | "traces";

// ---------------------------------------------------------------------------------------------------------------
// Gateway port: service worker -> host

export interface GatewayContract extends EmptyContract {
  readonly calls: {
    readonly exchange: { readonly input: GatewayExchange; readonly output: GatewayAnswer };
    readonly hostInfo: { readonly input: Record<never, never>; readonly output: HostInfo };
  };
  readonly streams: {
    /** The body of an answer of kind `stream`, by its id. */
    readonly body: { readonly input: { readonly bodyId: string }; readonly item: Uint8Array };
  };
}

export interface GatewayExchange {
  readonly method: string;
  readonly rawTarget: string;
  readonly headers: HeaderList;
  readonly body: ArrayBuffer;
  /** `FetchEvent.clientId`. */
  readonly clientId: string;
  /** Hash of the body: with client, method and target it recognises a request that the browser dispatched again. */
  readonly bodyHash: string;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body:
    | { readonly kind: "bytes"; readonly bytes: ArrayBuffer }
    | { readonly kind: "stream"; readonly bodyId: string };
}

// ---------------------------------------------------------------------------------------------------------------
// Instance port: host -> instance worker

export interface InstanceContract extends EmptyContract {
  readonly calls: {
    readonly start: { readonly input: InstanceWorkerStart; readonly output: { readonly build: string } };
    readonly create: { readonly input: InstanceCreate; readonly output: InstanceCreated };
    readonly execute: {
      readonly input: {
        readonly instanceId: string;
        readonly requests: readonly InstanceRequest[];
        /** Names the execution in the notes about its responses. Absent: nobody hears them. */
        readonly executionId?: number;
      };
      readonly output: {
        readonly outcomes: readonly InstanceOutcome[];
        readonly times: ExecutionTimes;
        readonly nonFiniteOutputs: number;
        /** Tensors that were read from a device's memory; absent where there is no device. */
        readonly readbacks?: number;
      };
    };
    /** The bytes of a tensor that an execution has left in the worker. UNAVAILABLE where it is not there. */
    readonly readTensor: {
      readonly input: { readonly handle: number };
      readonly output: { readonly bytes: Uint8Array };
    };
    /** Rejects with the reason where the model says that it is not ready. Answered also while it executes. */
    readonly checkReady: {
      readonly input: { readonly instanceId: string };
      readonly output: Record<never, never>;
    };
    readonly release: {
      readonly input: { readonly instanceId: string };
      readonly output: { readonly releasedBytes: number };
    };
  };
  readonly notes: {
    /** Nobody needs the tensor any more once what was asked before is done. */
    readonly disposeTensor: { readonly handle: number };
    /** There is room for so many more responses of that request. */
    readonly credit: ExecutedRequest & { readonly count: number };
    /** Nobody waits for the request any more: its responses go nowhere, its end is still to be told. */
    readonly cancel: ExecutedRequest;
  };
}

/** A request of an execution, during it and, while it is decoupled and open, after it. */
export interface ExecutedRequest {
  readonly executionId: number;
  /** Among the requests of the execution. */
  readonly index: number;
}

/** Responses of one request that may be under way to the host before it gives credit again. */
export const RESPONSE_CREDITS: number = 8;

/** A request of a model, which may belong to the trace of a request that it works on. */
export interface ModelInferRequest extends InferenceRequest {
  readonly traceParentId?: number;
}

/** What an instance worker tells and asks its host. */
export interface InstanceHostContract extends EmptyContract {
  readonly calls: {
    /** A model's request to another model. */
    readonly infer: { readonly input: ModelInferRequest; readonly output: InferenceResponse };
    readonly loadModel: { readonly input: RepositoryModelLoad; readonly output: Record<never, never> };
    readonly unloadModel: { readonly input: RepositoryModelUnload; readonly output: Record<never, never> };
    readonly modelReady: { readonly input: ModelReference; readonly output: { readonly ready: boolean } };
    readonly declareMetric: { readonly input: CustomMetricFamily; readonly output: Record<never, never> };
    readonly metricValue: { readonly input: CustomMetric; readonly output: { readonly value: number } };
  };
  readonly streams: {
    /** The same of a model with any number of responses. */
    readonly inferStream: { readonly input: ModelInferRequest; readonly item: InferenceStreamResponse };
  };
  readonly notes: {
    readonly metric: CustomMetricUpdate;
    /** What goes on now for a traced request. */
    readonly traceActivity: { readonly traceId: number; readonly activity: string };
    /** A response of a decoupled request, and its end where it is `final`. */
    readonly response: ExecutedRequest & { readonly response: InstanceResponse; readonly final: boolean };
    /** No more responses come for the request. */
    readonly end: ExecutedRequest & { readonly error?: WireError };
    /**
     * An operation left the worker's queue and runs now: the watchdog's clock starts here. A `run` is told only if it has
     * waited in the queue; one that found the worker idle began when it was posted.
     */
    readonly operation: {
      readonly instanceId: string;
      readonly operation: "create" | "first-run" | "run" | "release";
    };
    /** What it has taken so far; told whenever that has changed by something it did, and before the answer to that. */
    readonly memory: WorkerMemory;
    readonly log: { readonly level: LogLevel; readonly message: string };
  };
}

export interface WorkerMemory {
  /** Of the memories of WebAssembly modules. */
  readonly wasmBytes: number;
  /** Of the buffers on its GPUs. */
  readonly gpuBufferBytes: number;
}

export interface InstanceWorkerStart {
  readonly wireVersion: number;
  readonly workerId: string;
  readonly ortUrl: string;
  /** Compiled once in the host and shared by all CPU workers. Absent: the worker fetches and compiles. */
  readonly wasmModule?: WebAssembly.Module;
  readonly threads: number;
}

export interface InstanceCreate {
  readonly instanceId: string;
  readonly modelName: string;
  readonly version: number;
  readonly instanceName: string;
  readonly backend: string;
  readonly device: InstanceDevice;
  /** proto3 binary of the normalised ModelConfig. */
  readonly config: Uint8Array;
  readonly files: readonly ModelFile[];
  readonly location: StoreLocation;
  /** Content by path, only where `location` is memory. */
  readonly bytes?: Readonly<Record<string, Uint8Array>>;
  /** Where the files are served, with a slash at its end; absent where they are not. */
  readonly servedAt?: string;
  /** `auto-complete`: only what the model itself makes of its configuration is wanted. Default: `serve`. */
  readonly purpose?: "serve" | "auto-complete";
}

export interface InstanceCreated {
  readonly device: DeviceReport;
  /** proto3 binary of the completed ModelConfig, for the purpose `auto-complete`. */
  readonly config?: Uint8Array;
}

// ---------------------------------------------------------------------------------------------------------------
// Finding each other: page <-> service worker, page <-> page (BroadcastChannel), by plain messages

/**
 * Page -> service worker: this page's SDK wants a port to the host of another page. The service worker passes it on as
 * `who-is-host` with the page's own client id, and hands the port in the answer to that client.
 */
export interface FindHost {
  readonly naiad: "find-host";
  readonly wireVersion: number;
  readonly base: string;
  /** Name of the lock that the asking page holds while it lives. */
  readonly peerId: string;
}

/** Service worker -> every page: whoever owns the host answers with `here-is-host` and a port; the others keep silent. */
export interface WhoIsHost {
  readonly naiad: "who-is-host";
  readonly wireVersion: number;
  readonly base: string;
  /** `gateway`: the service worker itself asks. `client`: it asks for the page `clientId`. */
  readonly kind: "gateway" | "client";
  /** Name of the lock that the asking side holds while it lives. */
  readonly peerId: string;
  /** Service worker's id of the asking page; empty for a gateway. */
  readonly clientId: string;
}

/** Owning page -> service worker, which keeps the port (`event.ports[0]`) or passes message and port on to `clientId`. */
export interface HereIsHost {
  readonly naiad: "here-is-host";
  readonly wireVersion: number;
  readonly base: string;
  readonly kind: "gateway" | "client";
  readonly peerId: string;
  readonly clientId: string;
  readonly hostId: string;
}

/**
 * Page -> service worker: this page starts a server or stands for election, so a host is about to appear. The answer to
 * `who-is-host` while there is no port to give yet; a gateway that hears it waits longer.
 */
export interface HostIsComing {
  readonly naiad: "host-is-coming";
  readonly wireVersion: number;
  readonly base: string;
}

/**
 * Page -> service worker: this page's last start failed, and it has not tried again. Told when it fails, and in answer to
 * `who-is-host`; a gateway that hears of no other page waits no longer.
 */
export interface StartFailed {
  readonly naiad: "start-failed";
  readonly wireVersion: number;
  readonly base: string;
  readonly reason: string;
}

/**
 * Page -> service worker, answered with `pong` on the port that came along, else to the page itself. To be sent every 10 s
 * while a `fetch` to the server is pending: Firefox ends a service worker that has heard nothing for 30 s.
 */
export interface Ping {
  readonly naiad: "ping";
}

export interface Pong {
  readonly naiad: "pong";
  readonly wireVersion: number;
  readonly base: string;
  readonly gatewayId: string;
}

/** In the query of the service worker's script: `<base>metrics` is not the server's. */
export const WITHOUT_METRICS: string = "allow-metrics=false";

/** Web Lock held by the page that may run the host. */
export function electionLock(base: string): string {
  return `naiad:election:${base}`;
}

/** Web Lock held by a worker or gateway as long as it lives: its release is the notice of death. */
export function aliveLock(id: string): string {
  return `naiad:alive:${id}`;
}
