/** What the value of an option looks like. */
export type FlagKind =
  /** Without a value; `=false` takes it back. */
  | "switch"
  /** `true` or `false`, and `true` where nothing follows. */
  | "boolean"
  | "count"
  /** A count, or as a boolean 1 or 0. */
  | "level"
  | "port"
  | "text"
  /** Text that is not empty, as it is where a variable of the shell has not been set. */
  | "filled"
  /** One of these, in whatever case. */
  | readonly string[];

export interface Flag {
  readonly kind: FlagKind;
  /** Of the value, in the help. */
  readonly value?: string;
  readonly help: string;
  /** May be given several times. */
  readonly repeats?: boolean;
  /** tritonserver does not have it. */
  readonly own?: boolean;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: Readonly<Record<string, Flag>>;
}

const TLS = (name: string): Readonly<Record<string, Flag>> => ({
  [`${name}-use-ssl`]: { kind: "boolean", help: "Serve over TLS (default: false)" },
  [`${name}-server-cert`]: { kind: "filled", value: "FILE", help: "PEM file with the server's certificate" },
  [`${name}-server-key`]: {
    kind: "filled",
    value: "FILE",
    help: "PEM file with the key of that certificate",
  },
  [`${name}-use-ssl-mutual`]: {
    kind: "boolean",
    help: "Ask clients for a certificate, and refuse those without (default: false)",
  },
  [`${name}-root-cert`]: {
    kind: "filled",
    value: "FILE",
    help: "PEM file with the certificates that those of clients are checked against",
  },
});

const own = (flags: Readonly<Record<string, Flag>>): Readonly<Record<string, Flag>> =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, own: true }]));

/** Every option of `naiad serve` that does something. */
export const FLAG_GROUPS: readonly FlagGroup[] = [
  {
    title: "Models",
    flags: {
      "model-repository": {
        kind: "filled",
        value: "DIR",
        repeats: true,
        help: "Directory of models, laid out as for Triton; needed, and may be given several times",
      },
      "model-control-mode": {
        kind: ["none", "poll", "explicit"],
        help: "Load all models at start (none), look for changes too (poll), or only load what is asked for (explicit) (default: none)",
      },
      "load-model": {
        kind: "filled",
        value: "NAME",
        repeats: true,
        help: "In mode explicit, a model to load at start; * alone loads all",
      },
      "repository-poll-secs": {
        kind: "count",
        help: "In mode poll, seconds from look to look (default: 15)",
      },
      "exit-on-error": { kind: "boolean", help: "Exit when a model fails to load at start (default: true)" },
      "strict-readiness": {
        kind: "boolean",
        help: "Ready only when every model is, not already when the server is (default: true)",
      },
      "disable-auto-complete-config": {
        kind: "switch",
        help: "Take configurations only as they are written",
      },
      "model-config-name": {
        kind: "text",
        value: "NAME",
        help: "Use configs/NAME.pbtxt of models that have it, in place of config.pbtxt",
      },
      "model-load-thread-count": { kind: "count", help: "Models that are loaded at a time (default: 4)" },
      "model-load-retry-count": {
        kind: "count",
        help: "How often a failed load is tried again (default: 0)",
      },
      "backend-config": {
        kind: "filled",
        value: "[BACKEND,]NAME=VALUE",
        repeats: true,
        help: "Setting for backends: default-max-batch-size",
      },
    },
  },
  {
    title: "Server",
    flags: {
      id: { kind: "text", value: "NAME", help: "Name in the server's metadata (default: triton)" },
      "exit-timeout-secs": {
        kind: "count",
        help: "How long the server, told to end, waits for what it accepted (default: 30)",
      },
      "rate-limit": {
        kind: ["off", "execution_count"],
        help: "Whether instances take turns as rate_limiter of their groups says (default: off)",
      },
      "rate-limit-resource": {
        kind: "text",
        value: "NAME:COUNT[:DEVICE]",
        repeats: true,
        help: "Units of a resource that a rate_limiter names",
      },
      "cache-config": {
        kind: "filled",
        value: "local,size=BYTES",
        repeats: true,
        help: "Keep responses of models that allow it (default: none are kept)",
      },
      ...own({
        "request-rate-limit": {
          kind: "text",
          value: "RATE[:BURST]",
          help: "Requests a second that each model accepts (default: off)",
        },
        "max-inflight-bytes": {
          kind: "count",
          help: "Bytes of inputs that may be queued and executing (default: as the machine suggests)",
        },
        config: {
          kind: "filled",
          value: "FILE",
          help: 'JSON file with options by their names: { "http-port": 8000 }; those of the command line win',
        },
      }),
    },
  },
  {
    title: "Log",
    flags: {
      "log-verbose": {
        kind: "level",
        help: "0: off; 1: more is told, the browser's own lines too (default: 0)",
      },
      "log-info": { kind: "boolean", help: "Information lines (default: true)" },
      "log-warning": { kind: "boolean", help: "Warnings (default: true)" },
      "log-error": { kind: "boolean", help: "Errors (default: true)" },
      "log-format": { kind: ["default", "ISO8601"], help: "Look of the lines (default: default)" },
      "log-file": { kind: "text", value: "FILE", help: "Append lines to a file, not to standard error" },
    },
  },
  {
    title: "HTTP",
    flags: {
      "allow-http": { kind: "boolean", help: "Serve HTTP (default: true)" },
      "http-port": { kind: "port", help: "0 takes a free one, which is told (default: 8000)" },
      "http-address": { kind: "filled", value: "ADDRESS", help: "Where to listen (default: that of --host)" },
      "http-max-input-size": {
        kind: "count",
        help: "Bytes that the JSON of a request, or a tensor in it, may have (default: 67108864)",
      },
      "http-restricted-api": {
        kind: "text",
        value: "API,...:HEADER=VALUE",
        repeats: true,
        help: "Refuse requests of these categories without the header",
      },
      "http-header-forward-pattern": {
        kind: "text",
        value: "REGEX",
        help: "Headers that become parameters of inference requests",
      },
      ...own({
        host: {
          kind: "filled",
          value: "ADDRESS",
          help: "Where every service listens that has no address of its own; 0.0.0.0: for everybody (default: 127.0.0.1)",
        },
        "http-cors-allow-origin": {
          kind: "filled",
          value: "ORIGIN",
          repeats: true,
          help: "An origin whose pages may use the API; * allows all (default: none)",
        },
        "http-access-log": {
          kind: "filled",
          value: "FILE",
          help: "Append a line for each request; - is standard output (default: none)",
        },
        ...TLS("http"),
      }),
    },
  },
  {
    title: "gRPC",
    flags: {
      "allow-grpc": { kind: "boolean", help: "Serve gRPC (default: true)" },
      "grpc-port": { kind: "port", help: "0 takes a free one, which is told (default: 8001)" },
      "grpc-address": { kind: "filled", value: "ADDRESS", help: "Where to listen (default: that of --host)" },
      "grpc-restricted-protocol": {
        kind: "text",
        value: "API,...:KEY=VALUE",
        repeats: true,
        help: "Refuse calls of these categories without the header triton-grpc-protocol-KEY",
      },
      "grpc-header-forward-pattern": {
        kind: "text",
        value: "REGEX",
        help: "Metadata that become parameters of inference requests",
      },
      "grpc-infer-response-compression-level": {
        kind: ["none", "low", "medium", "high"],
        help: "Other than none: compress responses for clients that take it, all levels alike (default: none)",
      },
      ...TLS("grpc"),
      "grpc-keepalive-time": {
        kind: "count",
        help: "Milliseconds of silence after which a client is pinged (default: 7200000)",
      },
      "grpc-keepalive-timeout": {
        kind: "count",
        help: "Milliseconds that it may take to answer that (default: 20000)",
      },
      "grpc-keepalive-permit-without-calls": {
        kind: "boolean",
        help: "Ping clients that wait for nothing too (default: false)",
      },
      "grpc-max-connection-age": {
        kind: "count",
        help: "Milliseconds after which a client has to connect anew (default: any number)",
      },
      "grpc-max-connection-age-grace": {
        kind: "count",
        help: "Milliseconds that its calls have after that (default: any number)",
      },
    },
  },
  {
    title: "Metrics",
    flags: {
      "allow-metrics": { kind: "boolean", help: "Serve metrics for Prometheus (default: true)" },
      "metrics-port": { kind: "port", help: "0 takes a free one, which is told (default: 8002)" },
      "metrics-address": {
        kind: "filled",
        value: "ADDRESS",
        help: "Where to listen (default: that of --http-address)",
      },
      "metrics-interval-ms": {
        kind: "count",
        help: "Milliseconds from one reading of CPU and GPUs to the next (default: 2000)",
      },
      "allow-cpu-metrics": { kind: "boolean", help: "Load and memory of the machine (default: true)" },
      "allow-gpu-metrics": {
        kind: "boolean",
        help: "Load, memory, power and energy of GPUs, of nvidia-smi or Linux (default: true)",
      },
      "metrics-config": {
        kind: "filled",
        value: "NAME=VALUE",
        repeats: true,
        help: "counter_latencies, summary_latencies, histogram_latencies, summary_quantiles",
      },
    },
  },
  {
    title: "Traces",
    flags: {
      "trace-config": {
        kind: "filled",
        value: "[MODE,]NAME=VALUE",
        repeats: true,
        help:
          "level (TIMESTAMPS, TENSORS or OFF), rate, count, mode (triton or opentelemetry); triton,file and " +
          "triton,log-frequency; opentelemetry,url, resource, bsp_max_queue_size, bsp_schedule_delay and " +
          "bsp_max_export_batch_size",
      },
    },
  },
  {
    title: "Browser",
    flags: own({
      runtime: {
        kind: ["browser", "node"],
        help: "What the server runs in: a headless browser, or threads of Node.js, without WebGPU (default: browser)",
      },
      browser: {
        kind: "filled",
        value: "FILE",
        help: "Chrome or Chromium to use (default: NAIAD_BROWSER, or the first that is found)",
      },
      gpu: {
        kind: ["auto", "off", "software"],
        help: "WebGPU: where there is a GPU, never, or in software, which is right but slow (default: auto)",
      },
      "gpu-fallback": {
        kind: ["cpu", "error"],
        help: "What an instance on a GPU does where it cannot run there (default: cpu)",
      },
      "fold-gpus": { kind: "switch", help: "Let gpus: [ 1 ] mean the one adapter that there is" },
      threads: { kind: "count", help: "WASM threads of one CPU instance (default: all cores but one)" },
      verify: {
        kind: ["auto", "always", "off"],
        help: "Which models on a GPU are compared with the CPU when they are loaded (default: auto)",
      },
      "no-sandbox": {
        kind: "switch",
        help: "Start the browser without its sandbox, which root needs; only for models that you trust",
      },
      "browser-argument": {
        kind: "text",
        value: "ARGUMENT",
        repeats: true,
        help: "One more argument for the browser",
      },
      "browser-hang-secs": {
        kind: "count",
        help: "A browser, or a host thread of Node.js, that has not answered for so long is started anew (default: 30)",
      },
    }),
  },
];
