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
      --transport http|grpc|port|fetch *  The same; 'port' and 'fetch' start a browser with the server in a page, and measure
                                  from inside that page: over the SDK's port, or over fetch and the service worker
      --streaming                 Send requests over streams, which only gRPC has
      --grpc-compression-algorithm none|gzip|deflate  Of requests (default: none)
  -H, --header NAME:VALUE         Sent with every request; may be given several times
      --bls-composing-models NAME[:VERSION],...  Models that this one calls, whose statistics are told too

TLS:
      --ssl-grpc-use-ssl          gRPC over TLS, as with an https URL
      --ssl-grpc-root-certifications-file, --ssl-grpc-private-key-file, --ssl-grpc-certificate-chain-file FILE
      --ssl-https-ca-certificates-file, --ssl-https-client-certificate-file, --ssl-https-private-key-file FILE
      --ssl-https-client-certificate-type PEM|DER, --ssl-https-private-key-type PEM|DER  (default: PEM)
      --ssl-https-verify-peer 0|1, --ssl-https-verify-host 0|1|2  (default: 1, 2)

Browser, with --transport port or fetch:
      --model-repository DIR *    Where the model is; may be given several times
      --browser FILE *            Chrome or Chromium to use (default: NAIAD_BROWSER, or the first that is found)
      --gpu auto|off|software *   WebGPU: where there is a GPU, never, or in software (default: auto)
      --no-sandbox *              Start the browser without its sandbox, which root needs

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
      --input-data zero|random|FILE|DIR  Their content: JSON files as for perf_analyzer, several of them one after the other, with
                                  validation_data where outputs are to be compared; or a directory with a file for each
                                  tensor (default: random)
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
      --serial-sequences          One request of a sequence at a time, which is always so here

Report:
  -f, --latency-report-file FILE  Write CSV too; models of an ensemble have files of their own beside it
      --verbose-csv               With more columns
      --profile-export-file FILE  Write the times of every request, as JSON
      --collect-metrics           Read the server's metrics too: GPU utilization, power and memory, CPU
      --metrics-url URL           Where they are (default: localhost:8002/metrics)
      --metrics-interval MSEC     How often they are read (default: 1000)
      --json *                    Print the report as JSON, in place of text
  -v, --verbose                   Print every window
      --version                   Print the version
  -h, --help                      Show this help

Traces, set at the server before the measurement:
      --trace-level OFF|TIMESTAMPS|TENSORS  May be given several times
      --trace-rate N, --trace-count N, --log-frequency N, --trace-file FILE

Taken without effect on the load, as nothing here blocks a thread: --async, --sync. Taken with a warning: --max-threads and options
of services that are no Triton. perf_analyzer's older -t, -c, -d, -z and --data-directory are understood.

Ctrl-C ends it with the report of the levels that were measured.

Exit code: 0 when every level was measured, 1 when one was not stable, a request failed or it was stopped, 2 for a wrong command
line.`;
