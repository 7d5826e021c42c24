import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../index.ts";

/** A model `m` that answers at once, and what it was asked. */
interface Stand {
  readonly url: string;
  readonly requests: readonly {
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: Buffer;
  }[];
  close(): Promise<void>;
}

async function openStand(failsAt = -1): Promise<Stand> {
  const requests: { url: string; headers: IncomingMessage["headers"]; body: Buffer }[] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const url = request.url ?? "";
      if (url.endsWith("/infer")) {
        requests.push({ url, headers: request.headers, body: Buffer.concat(pieces) });
        if (requests.length === failsAt) response.writeHead(400).end('{"error":"no more"}');
        else response.end('{"model_name":"m","model_version":"1","outputs":[]}');
        return;
      }
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(documentAt(url, requests.length)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
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
    outputs: [],
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
    expect(text).toMatch(/^\*\*\* Measurement Settings \*\*\*\n {2}Batch size: 1\n/);
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

  it("ends with the server's error, and where there is no server", async () => {
    const failing = await openStand(3);
    expect(await perf("-m", "m", "-u", failing.url, "--request-count", "9")).toMatchObject({
      code: 1,
      error: ["naiad perf: no more"],
    });
    await failing.close();
    const { code, error } = await perf("-m", "m", "-u", failing.url);
    expect(code).toBe(1);
    expect(error[0]).toContain(`GET http://${failing.url}/v2/models/m`);
  });

  it("has a non-zero exit code where windows do not agree", async () => {
    const { code, out } = await perf("-m", "m", "-u", stand.url, "-p", "5", "-s", "0", "-r", "3");
    expect(code).toBe(1);
    expect(out.some((line) => line.startsWith("  Warning: the last of 3 windows still differ"))).toBe(true);
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
    [["-m", "m", "--transport", "port"], "measured in a page, by measure() of 'naiad/perf'"],
    [["-m", "m", "-i", "udp"], "--transport must be one of"],
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
