import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { main } from "../src/command/index.ts";

/** A server with a model `m` that answers at once, and what it was asked. */
export interface PerfStand {
  readonly url: string;
  readonly requests: readonly {
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: Buffer;
  }[];
  readonly traces: readonly string[];
  /** The end of the test does it too. */
  close(): Promise<void>;
}

/** Open until the test is over. */
export async function openStand({
  failsAt = -1,
  inferType = "application/json",
  isBare = false,
} = {}): Promise<PerfStand> {
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
  const stand: PerfStand = {
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
  onTestFinished(() => stand.close());
  return stand;
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

/** An empty folder, there until the test is over. */
export async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "naiad-perf-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** The model, and windows so short that a measurement is soon over. */
export const QUICK = ["-m", "m", "-p", "30", "-s", "1000", "-r", "3"] as const;

interface Ran {
  readonly code: number;
  readonly out: readonly string[];
  readonly error: readonly string[];
}

/** What the command line `naiad perf ...argv` ends with, and what it prints. */
export async function perf(...argv: readonly string[]): Promise<Ran> {
  const out: string[] = [];
  const error: string[] = [];
  const code = await main(["perf", ...argv], {
    out: (line) => void out.push(line),
    error: (line) => void error.push(line),
  });
  return { code, out, error };
}
