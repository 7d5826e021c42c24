/** Options of perf_analyzer that cannot be had here, by the reason. Their value `none` asks for nothing. */
export const ABSENT_OPTIONS = {
  "shared-memory": "a browser shares no memory with other programs",
  "model-repository": "models are served by 'naiad serve', not by this program",
  "periodic-concurrency-range": "use --concurrency-range",
  "session-concurrency": "sessions of language models are not measured",
  "collect-metrics": "metrics are read from the server's /metrics",
  "trace-level": "traces are switched on with 'naiad serve --trace-config', or over the server's API",
} as const;

/** As Node's parser takes them: names, letters and kinds. Those that perf_analyzer has are named as there. */
export const PERF_OPTIONS = {
  "model-name": { type: "string", short: "m" },
  "model-version": { type: "string", short: "x" },
  url: { type: "string", short: "u" },
  protocol: { type: "string", short: "i" },
  transport: { type: "string" },
  header: { type: "string", short: "H", multiple: true },
  "service-kind": { type: "string" },
  "batch-size": { type: "string", short: "b" },
  "request-parameter": { type: "string", multiple: true },
  "input-tensor-format": { type: "string" },
  "output-tensor-format": { type: "string" },
  async: { type: "boolean", short: "a" },
  sync: { type: "boolean" },
  streaming: { type: "boolean" },
  "max-threads": { type: "string" },
  "concurrency-range": { type: "string" },
  "request-rate-range": { type: "string" },
  "request-distribution": { type: "string" },
  "request-intervals": { type: "string" },
  "binary-search": { type: "boolean" },
  "latency-threshold": { type: "string", short: "l" },
  "measurement-mode": { type: "string" },
  "measurement-interval": { type: "string", short: "p" },
  "measurement-request-count": { type: "string" },
  "stability-percentage": { type: "string", short: "s" },
  "max-trials": { type: "string", short: "r" },
  percentile: { type: "string" },
  "request-count": { type: "string" },
  "warmup-request-count": { type: "string" },
  "input-data": { type: "string" },
  shape: { type: "string", multiple: true },
  "string-data": { type: "string" },
  "string-length": { type: "string" },
  "num-of-sequences": { type: "string" },
  "sequence-length": { type: "string" },
  "sequence-length-variation": { type: "string" },
  "sequence-id-range": { type: "string" },
  "serial-sequences": { type: "boolean" },
  "latency-report-file": { type: "string", short: "f" },
  "verbose-csv": { type: "boolean" },
  "profile-export-file": { type: "string" },
  json: { type: "boolean" },
  verbose: { type: "boolean", short: "v" },
  help: { type: "boolean", short: "h" },
  "shared-memory": { type: "string" },
  "model-repository": { type: "string" },
  "periodic-concurrency-range": { type: "string" },
  "session-concurrency": { type: "string" },
  "collect-metrics": { type: "boolean" },
  "trace-level": { type: "string" },
} as const;

export const PERF_SUMMARY: string = "Measure throughput and latency of a model, as perf_analyzer does";

export const PERF_HELP: string = `${PERF_SUMMARY}.

Usage: naiad perf -m MODEL [options]

Asks a server of the V2 protocol, Naiad's or another, for inferences: so many at a time, or so many a second. A level of
load is measured in windows until three in a row agree. Options are those of perf_analyzer, with its defaults; those marked *
are Naiad's own.

Server:
  -m, --model-name NAME           The model; needed
  -x, --model-version VERSION     Its version (default: the server's choice)
  -u, --url HOST:PORT             The server; a URL may have a scheme and a path (default: localhost:8000, or :8001 for gRPC)
  -i, --protocol http|grpc        The way to it (default: http)
      --transport http|grpc *     The same; 'port' and 'fetch' are measured in a page, by measure() of 'naiad/perf'
      --streaming                 Send every request over a stream, which only gRPC has
  -H, --header NAME:VALUE         Sent with every request; may be given several times

Load:
      --concurrency-range START[:END[:STEP]]   Requests on their way at a time (default: 1)
      --request-rate-range START[:END[:STEP]]  Requests a second; latencies count from when a request was due
      --request-distribution constant|poisson  Intervals between them (default: constant)
      --request-intervals FILE    Intervals in microseconds, one a line, round and round
      --binary-search             Look for the highest level under --latency-threshold
  -l, --latency-threshold MSEC    Stop at the first level over it; an END of 0 needs it (default: 0, none)

Measurement:
  -p, --measurement-interval MSEC       Length of a window (default: 5000)
      --measurement-mode time_windows|count_windows  Whether windows end by time or by number (default: time_windows)
      --measurement-request-count N     Requests of a window in mode count_windows (default: 50)
  -s, --stability-percentage PERCENT    How far three windows may lie apart (default: 10)
  -r, --max-trials N                    Windows of a level at most (default: 10)
      --percentile N                    Judge latencies by it (default: -1, by their mean)
      --warmup-request-count N          Requests before the first window (default: 0)
      --request-count N                 Measure so many requests, in place of windows

Requests:
  -b, --batch-size N              Rows of each request (default: 1)
      --input-data zero|random|FILE  Their content; FILE is JSON as for perf_analyzer (default: random)
      --shape NAME:SIZE,...       Shape of an input that has a variable one; may be given several times
      --string-data TEXT          Every element of inputs of strings
      --string-length N           Of random strings (default: 128)
      --input-tensor-format binary|json, --output-tensor-format binary|json  (default: binary)
      --request-parameter NAME:VALUE[:TYPE]  Sent with every request; TYPE is int, bool, double or string

Sequences:
      --num-of-sequences N        Open at a time at a request rate; at a concurrency, as many as that (default: 4)
      --sequence-length N         Steps of a sequence, on average (default: 20, or as FILE has them)
      --sequence-length-variation PERCENT  (default: 20)
      --sequence-id-range START[:END]      Ids that are used (default: from 1 on)

Report:
  -f, --latency-report-file FILE  Write CSV too
      --verbose-csv               With more columns
      --profile-export-file FILE  Write the times of every request, as JSON
      --json *                    Print the report as JSON, in place of text
  -v, --verbose                   Print every window
  -h, --help                      Show this help

Taken and without effect, as requests of a sequence always wait for each other and nothing here blocks: --async, --sync,
--max-threads, --serial-sequences, --service-kind triton.

Exit code: 0 when every level was measured, 1 when one was not stable or a request failed, 2 for a wrong command line.`;
