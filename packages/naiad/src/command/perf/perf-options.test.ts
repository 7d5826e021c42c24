import { describe, expect, it } from "vitest";
import { openStand, perf } from "../../../test/perf-stand.ts";
import { PERF_OPTIONS } from "./perf-flags.ts";

/** Of 2.45 and later, for Triton and for what it calls a server at all. */
const PERF_ANALYZER_OPTIONS: readonly string[] =
  `--version --help -h -m -x -v -b -u -i -f -H -a -p -l -s -r -t -c -d -z
  --bls-composing-models --model-signature-name --service-kind --endpoint --async --sync --measurement-interval --measurement-mode
  --measurement-request-count --concurrency-range --periodic-concurrency-range --request-period --request-parameter
  --request-rate-range --request-distribution --request-intervals --serial-sequences --binary-search --num-of-sequences
  --latency-threshold --max-threads --stability-percentage --max-trials --percentile --warmup-request-count --request-count
  --input-data --shared-memory --output-shared-memory-size --shape --sequence-length --sequence-length-variation
  --sequence-id-range --string-length --string-data --input-tensor-format --output-tensor-format --data-directory
  --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file --ssl-grpc-private-key-file --ssl-grpc-certificate-chain-file
  --ssl-https-verify-peer --ssl-https-verify-host --ssl-https-ca-certificates-file --ssl-https-client-certificate-file
  --ssl-https-client-certificate-type --ssl-https-private-key-file --ssl-https-private-key-type --profile-export-file
  --streaming --grpc-compression-algorithm --trace-file --trace-level --trace-rate --trace-count --log-frequency
  --triton-server-directory --model-repository --verbose-csv --collect-metrics --metrics-url --metrics-interval`
    .split(/\s+/)
    .filter((option) => option !== "");

describe("naiad perf", () => {
  it.each(PERF_ANALYZER_OPTIONS)("knows perf_analyzer's %s", (option) => {
    const isKnown = option.startsWith("--")
      ? Object.hasOwn(PERF_OPTIONS, option.slice(2))
      : Object.values(PERF_OPTIONS).some((one) => "short" in one && one.short === option.slice(1));
    expect(isKnown).toBe(true);
  });

  it("knows the older names for zeros and a concurrency, and warns of what changes nothing", async () => {
    const stand = await openStand();
    const { error, out } = await perf(
      ...["-m", "m", "--request-count", "5"],
      "-u",
      stand.url,
      "-z",
      "-d",
      "-c",
      "2",
      "-l",
      "9999",
      "--max-threads",
      "4",
    );
    expect(out).toContain("Request concurrency: 2");
    expect(error).toEqual([
      "naiad perf: warning: --max-threads has no effect: one thread sends everything, and waits for no answer",
    ]);
  });

  it.each([
    [[], "the model is missing: -m NAME"],
    [["-m", "m", "x"], "'x' is no option"],
    [
      ["-m", "m", "--concurency-range", "1"],
      "Unknown option '--concurency-range'; did you mean '--concurrency-range'?",
    ],
    [["-m", "m", "--concurrency-range", "1:a"], "--concurrency-range must be START[:END[:STEP]]"],
    [["-m", "m", "--concurrency-range", "1.5"], "must be of whole numbers"],
    [["-m", "m", "--concurrency-range", "1", "--request-rate-range", "1"], "only one of"],
    [["-m", "m", "--concurrency-range", "1:0"], "a range without an end needs --latency-threshold"],
    [["-m", "m", "--binary-search"], "--binary-search needs --latency-threshold"],
    [["-m", "m", "-b", "x"], "--batch-size must be a whole number"],
    [["-m", "m", "--percentile", "0"], "--percentile must be from 1 to 100"],
    [["-m", "m", "--shape", "x"], "--shape must be NAME:SIZE,SIZE..."],
    [["-m", "m", "-H", "x"], "-H must be NAME:VALUE"],
    [["-m", "m", "-u", "ftp://x"], "-u must be HOST:PORT or a URL"],
    [["-m", "m", "--input-data", "/none"], "--input-data '/none'"],
    [
      ["-m", "m", "--transport", "port"],
      "starts a browser with the server in a page, which needs --model-repository DIR",
    ],
    [
      ["-m", "m", "--transport", "fetch", "--model-repository", "d", "-u", "x"],
      "--url is of a server at an address",
    ],
    [["-m", "m", "--model-repository", "d"], "--model-repository needs --transport port or fetch"],
    [["-m", "m", "-i", "udp"], "--protocol must be one of"],
    [["-m", "m", "--transport", "udp"], "--transport must be one of"],
    [["-m", "m", "--request-intervals", "/none"], "--request-intervals '/none'"],
    [["-m", "m", "-f", "/none/report.csv"], "--latency-report-file '/none/report.csv'"],
    [["-m", "m", "--profile-export-file", "/"], "--profile-export-file '/' is a directory"],
    [["-m", "m", "--streaming"], "it needs -i grpc"],
    [["-m", "m", "--grpc-compression-algorithm", "gzip"], "--grpc-compression-algorithm needs -i grpc"],
    [["-m", "m", "--periodic-concurrency-range", "1:2"], "use --concurrency-range"],
    [["-m", "m", "--metrics-url", "x"], "need --collect-metrics"],
    [["-m", "m", "--async", "--sync"], "only one of --async and --sync"],
    [["-m", "m", "-t", "2", "--concurrency-range", "1"], "cannot be used with --concurrency-range"],
    [
      ["-m", "m", "--input-data", "zero", "--input-data", "random"],
      "--input-data zero can be given alone only",
    ],
    [["-m", "m", "--trace-level", "ALL"], "--trace-level must be one of OFF, TIMESTAMPS, TENSORS"],
    [["-m", "m", "-b", "0"], "--batch-size must be a whole number, 1 or more"],
    [["-m", "m", "--bls-composing-models", "a:b"], "--bls-composing-models must be NAME[:VERSION]"],
    [["-m", "m", "--shared-memory", "cuda"], "a browser shares no memory"],
    [["-m", "m", "--service-kind", "openai"], "--service-kind must be one of triton"],
    [["-m", "m", "--sequence-id-range", "5:2"], "--sequence-id-range must be START[:END]"],
    [["-m", "m", "--request-parameter", "x"], "--request-parameter must be NAME:VALUE[:TYPE]"],
  ])("refuses %j", async (argv, message) => {
    const { code, error } = await perf(...argv);
    expect(code).toBe(2);
    expect(error.join("\n")).toContain(message);
  });

  it("shows its help", async () => {
    expect((await perf("--help")).out[0]).toContain("Usage: naiad perf -m MODEL [options]");
  });
});
