import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../index.ts";
import { PERF_OPTIONS } from "./perf-flags.ts";

/** A model `m` that answers at once, and what it was asked. */
interface Stand {
  readonly url: string;
  readonly requests: readonly {
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: Buffer;
  }[];
  readonly traces: readonly string[];
  close(): Promise<void>;
}

async function openStand({
  failsAt = -1,
  inferType = "application/json",
  isBare = false,
} = {}): Promise<Stand> {
  const requests: { url: string; headers: IncomingMessage["headers"]; body: Buffer }[] = [];
  const traces: string[] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const url = request.url ?? "";
      if (url.endsWith("/infer")) {
        requests.push({ url, headers: request.headers, body: Buffer.concat(pieces) });
        response.setHeader("content-type", inferType);
        if (requests.length === failsAt) response.writeHead(400).end('{"error":"no more"}');
        else response.end('{"model_name":"m","model_version":"1","outputs":[]}');
        return;
      }
      if (isBare && url !== "/v2/models/m") {
        response.writeHead(404).end("Not Found");
        return;
      }
      if (url === "/metrics") {
        response.end('nv_gpu_utilization{gpu_uuid="GPU-a"} 0.25\n');
        return;
      }
      response.setHeader("content-type", "application/json");
      if (url.endsWith("/trace/setting")) {
        traces.push(Buffer.concat(pieces).toString());
        response.end('{"trace_level":["OFF"],"trace_rate":"1","trace_count":"-1","trace_mode":"triton"}');
        return;
      }
      response.end(JSON.stringify(documentAt(url, requests.length)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    traces,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function documentAt(url: string, count: number): object {
  const each = (ns: number): object => ({ count, ns: count * ns });
  if (url.endsWith("/config")) return { name: "m", max_batch_size: 4 };
  if (url.endsWith("/stats")) {
    const inference_stats = {
      success: each(1000),
      fail: each(0),
      queue: each(100),
      compute_input: each(200),
      compute_infer: each(300),
      compute_output: each(100),
      cache_hit: { count: 0, ns: 0 },
      cache_miss: { count: 0, ns: 0 },
    };
    return {
      model_stats: [
        {
          name: "m",
          version: "1",
          last_inference: 0,
          inference_count: count,
          execution_count: count,
          inference_stats,
          batch_stats: [],
          memory_usage: [],
          response_stats: {},
        },
      ],
    };
  }
  return {
    name: "m",
    versions: ["1"],
    platform: "p",
    inputs: [{ name: "x", datatype: "INT32", shape: [-1, 2] }],
    outputs: [{ name: "y", datatype: "INT32", shape: [-1, 1] }],
  };
}

let stand: Stand;
let folder: string;
beforeEach(async () => {
  stand = await openStand();
  folder = await mkdtemp(join(tmpdir(), "naiad-perf-"));
});
afterEach(async () => {
  await stand.close();
  await rm(folder, { recursive: true });
});

async function perf(...argv: readonly string[]) {
  const out: string[] = [];
  const error: string[] = [];
  const code = await main(["perf", ...argv], {
    out: (line) => void out.push(line),
    error: (line) => void error.push(line),
  });
  return { code, out, error };
}

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

const listeners = {
  SIGINT: process.listenerCount("SIGINT"),
  SIGTERM: process.listenerCount("SIGTERM"),
} as const;

const QUICK = ["-m", "m", "-p", "30", "-s", "1000", "-r", "3"] as const;

describe("naiad perf", () => {
  it("measures a range of concurrencies, and says so as perf_analyzer does", async () => {
    const { code, error, out } = await perf(
      ...QUICK,
      "-u",
      stand.url,
      "--concurrency-range",
      "1:2",
      "--input-data",
      "zero",
    );
    expect(error).toEqual([]);
    expect(code).toBe(0);
    const text = out.join("\n");
    expect(text).toMatch(
      /^\*\*\* Measurement Settings \*\*\*\n {2}Batch size: 1\n {2}Service Kind: Triton\n/,
    );
    expect(text).toMatch(
      /Request concurrency: 2\n {2}Client:\n {4}Request count: \d+\n {4}Throughput: [\d.]+ infer\/sec/,
    );
    expect(text).toMatch(/Avg HTTP time: \d+ usec \(send\/recv \d+ usec \+ response wait \d+ usec\)/);
    expect(text).toMatch(/Avg request latency: 1 usec \(overhead 0 usec \+ queue 0 usec/);
    expect(out.slice(-3)[0]).toBe("Inferences/Second vs. Client Average Batch Latency");
    expect(out.at(-1)).toMatch(/^Concurrency: 2, throughput: [\d.]+ infer\/sec, latency \d+ usec$/);
  });

  it("sends what it is told, in binary or as JSON", async () => {
    const file = join(folder, "data.json");
    await writeFile(file, '{"data":[{"x":[1,2],"parameters":{"p":1}},{"x":[3,4]}]}');
    const common = [...QUICK, "-u", `http://${stand.url}/`, "--request-count", "2"];
    await perf(
      ...common,
      "--input-data",
      file,
      "-b",
      "2",
      "-H",
      "x-key: secret",
      "-x",
      "1",
      "--request-parameter",
      "q:5:int",
    );
    const [first] = stand.requests;
    expect(first?.url).toBe("/v2/models/m/versions/1/infer");
    expect(first?.headers["x-key"]).toBe("secret");
    const length = Number(first?.headers["inference-header-content-length"]);
    const header = JSON.parse(first?.body.subarray(0, length).toString() ?? "") as object;
    expect(header).toMatchObject({
      parameters: { q: 5, p: 1, binary_data_output: true },
      inputs: [{ name: "x", shape: [2, 2], datatype: "INT32", parameters: { binary_data_size: 16 } }],
    });
    expect([...(first?.body.subarray(length) ?? [])]).toEqual([
      1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
    ]);

    await perf(
      ...common,
      "--input-data",
      file,
      "--input-tensor-format",
      "json",
      "--output-tensor-format",
      "json",
    );
    expect(JSON.parse(stand.requests.at(-1)?.body.toString() ?? "")).toMatchObject({
      inputs: [{ data: [3, 4] }],
    });
  });

  it("keeps to a rate", async () => {
    const { code, out } = await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-rate-range",
      "200",
      "--request-count",
      "40",
      "--json",
    );
    expect(code).toBe(0);
    const report = JSON.parse(out.join("\n")) as {
      readonly load: string;
      readonly levels: readonly { readonly requests: number; readonly inferencesPerSecond: number }[];
    };
    expect(report.load).toBe("request-rate");
    expect(report.levels[0]?.requests).toBe(40);
    // A busy machine may be slower. Faster than its schedule it is not: 40 requests have 39 intervals of 5 ms.
    expect(report.levels[0]?.inferencesPerSecond).toBeLessThan(206);
  });

  it("writes CSV and the times of every request", async () => {
    const [csv, profile] = [join(folder, "r.csv"), join(folder, "p.json")];
    const { code } = await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-count",
      "5",
      "-f",
      csv,
      "--verbose-csv",
      "--profile-export-file",
      profile,
    );
    expect(code).toBe(0);
    expect(await readFile(csv, "utf8")).toMatch(/^Concurrency,Inferences\/Second,.*response wait\n1,/);
    const written = JSON.parse(await readFile(profile, "utf8")) as {
      readonly experiments: readonly { readonly requests: readonly unknown[] }[];
    };
    expect(written.experiments[0]?.requests).toHaveLength(5);
  });

  it("compares outputs with validation_data, and fails where they differ", async () => {
    const file = join(folder, "data.json");
    await writeFile(file, '{"data":[{"x":[1,2]}],"validation_data":[{"y":[5]}]}');
    const argv = ["-m", "m", "-u", stand.url, "--request-count", "2", "--input-data", file];
    const { code, error } = await perf(...argv);
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: Output doesn't match expected output: there is no output 'y'"]);
  });

  it("takes a directory with a file for each input", async () => {
    const directory = await mkdtemp(join(folder, "inputs-"));
    await writeFile(join(directory, "x"), Buffer.from(Int32Array.of(6, 7).buffer));
    await perf("-m", "m", "-u", stand.url, "--request-count", "1", "--data-directory", directory);
    const { body, headers } = stand.requests[0] ?? {};
    const content = body?.subarray(Number(headers?.["inference-header-content-length"]));
    expect([...(content ?? [])]).toEqual([6, 0, 0, 0, 7, 0, 0, 0]);
  });

  it("reads the server's metrics, and fails where there are none", async () => {
    const csv = join(folder, "m.csv");
    const argv = ["-m", "m", "-u", stand.url, "--request-count", "5", "--collect-metrics", "-f", csv];
    const { code, out } = await perf(...argv, "--verbose-csv", "--metrics-url", `${stand.url}/metrics`);
    expect(code).toBe(0);
    expect(out.join("\n")).toMatch(
      /\n {2}Server Prometheus Metrics:\n {4}Avg GPU Utilization:\n {6}GPU-a : 25%\n {4}Avg GPU Power Usage:\n/,
    );
    expect(await readFile(csv, "utf8")).toMatch(
      /,Max GPU Memory Usage,Total GPU Memory\n.*,GPU-a:0\.25;,,,\n$/,
    );
    const failing = await perf(...argv, "--metrics-url", "127.0.0.1:1/metrics");
    expect(failing).toMatchObject({ code: 1 });
    expect(failing.error[0]).toContain("no metrics at http://127.0.0.1:1/metrics");
  });

  it("sets traces before it measures", async () => {
    await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-count",
      "1",
      "--trace-level",
      "TIMESTAMPS",
      "--trace-count",
      "-1",
    );
    expect(stand.traces).toEqual(['{"trace_level":["TIMESTAMPS"],"trace_count":"-1"}']);
  });

  it("knows the older names for zeros and a concurrency, and warns of what changes nothing", async () => {
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

  it.each(PERF_ANALYZER_OPTIONS)("knows perf_analyzer's %s", (option) => {
    const isKnown = option.startsWith("--")
      ? Object.hasOwn(PERF_OPTIONS, option.slice(2))
      : Object.values(PERF_OPTIONS).some((one) => "short" in one && one.short === option.slice(1));
    expect(isKnown).toBe(true);
  });

  it("ends with the server's error, and where there is no server", async () => {
    const failing = await openStand({ failsAt: 3 });
    expect(await perf("-m", "m", "-u", failing.url, "--request-count", "9")).toMatchObject({
      code: 1,
      error: ["naiad perf: no more"],
    });
    await failing.close();
    const { code, error } = await perf("-m", "m", "-u", failing.url);
    expect(code).toBe(1);
    expect(error[0]).toContain(`GET http://${failing.url}/v2/models/m`);
  });

  it("measures a server without configurations and statistics, and says that it has none", async () => {
    const bare = await openStand({ isBare: true });
    const { code, error, out } = await perf(
      "-m",
      "m",
      "-u",
      bare.url,
      "--request-count",
      "3",
      "--shape",
      "x:1,2",
    );
    await bare.close();
    expect([code, error]).toEqual([0, []]);
    expect(out).toContain("  Server: keeps no statistics");
  });

  it("does not take the page of a web site for an inference", async () => {
    const site = await openStand({ inferType: "text/html" });
    const { code, error } = await perf("-m", "m", "-u", site.url, "--request-count", "3");
    await site.close();
    expect(code).toBe(1);
    expect(error).toEqual([`naiad perf: http://${site.url} answers with 'text/html', which is no inference`]);
  });

  it("says what is wrong with an address over gRPC", async () => {
    const { code, error } = await perf("-m", "m", "-i", "grpc", "-u", "127.0.0.1:1");
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1"]);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("reports at %s what was measured until then", async (signal) => {
    const csv = join(folder, "cut.csv");
    const out: string[] = [];
    const error: string[] = [];
    const argv = [...QUICK, "-u", stand.url, "--concurrency-range", "1:50", "-f", csv];
    const code = await main(["perf", ...argv], {
      out: (line) => {
        out.push(line);
        if (line === "Request concurrency: 2") process.emit(signal);
      },
      error: (line) => void error.push(line),
    });
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: stopped before the end; this is what was measured until then"]);
    expect(out.filter((line) => line.startsWith("Concurrency: "))).toHaveLength(2);
    expect((await readFile(csv, "utf8")).trimEnd().split("\n")).toHaveLength(3);
    expect(process.listenerCount(signal)).toBe(listeners[signal]);
  });

  it("has nothing to report where it is stopped in the first level", async () => {
    const argv = ["-m", "m", "-u", stand.url, "-v"];
    const error: string[] = [];
    const code = await main(["perf", ...argv], {
      out: (line) => {
        if (line.startsWith("*** Measurement Settings")) process.emit("SIGINT");
      },
      error: (line) => void error.push(line),
    });
    expect([code, error]).toEqual([1, ["naiad perf: stopped"]]);
  });

  it("has a non-zero exit code where windows do not agree", async () => {
    const { code, out } = await perf("-m", "m", "-u", stand.url, "-p", "5", "-s", "0", "-r", "3");
    expect(code).toBe(1);
    expect(out.some((line) => line.startsWith("Failed to obtain stable measurement within 3"))).toBe(true);
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
