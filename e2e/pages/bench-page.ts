import type { NaiadServer } from "naiad";
import { startServer } from "naiad";
import { startPeer } from "./peer.ts";

/** What the page sends back: raw samples in milliseconds, so that the report can be recomputed. */
export interface BenchReport {
  readonly environment: Readonly<Record<string, string | number | boolean>>;
  readonly latency: readonly LatencySeries[];
  readonly throughput: readonly ThroughputSeries[];
  readonly error?: string;
}

export interface LatencySeries {
  readonly model: string;
  readonly inputBytes: number;
  /** Samples by contender, taken in turn. */
  readonly samplesMs: Readonly<Record<"hand-written" | "sdk" | "fetch", readonly number[]>>;
}

export interface ThroughputSeries {
  readonly model: string;
  readonly clients: number;
  /** Requests per second of each round, one-at-a-time and with all clients, in turn. */
  readonly single: readonly number[];
  readonly concurrent: readonly number[];
  /** Executions per request in the concurrent rounds: what the batcher saved. */
  readonly executionsPerRequest: number;
}

interface Subject {
  readonly model: string;
  readonly input: string;
  readonly dims: readonly number[];
}

const TINY: Subject = { model: "mlp_2x128", input: "INPUT", dims: [1, 128] };
const IMAGE: Subject = { model: "cnn_224", input: "IMAGE", dims: [1, 3, 224, 224] };
const THREADS = 1;
const SAMPLES = Number(new URLSearchParams(location.search).get("samples") ?? 40);
const ROUNDS = 5;

const server = await startServer({
  modelRepository: "/models/",
  loadModels: [TINY.model, IMAGE.model],
  threads: THREADS,
});

function randomInput({ dims }: Subject): Float32Array {
  const data = new Float32Array(dims.reduce((product, dim) => product * dim, 1));
  for (let at = 0; at < data.length; at += 1) data[at] = Math.random() - 0.5;
  return data;
}

async function sdkInfer(subject: Subject, data: Float32Array): Promise<void> {
  await server.client.infer({
    modelName: subject.model,
    inputs: { [subject.input]: { data, shape: subject.dims } },
  });
}

async function fetchInfer(subject: Subject, data: Float32Array): Promise<void> {
  const header = JSON.stringify({
    inputs: [
      {
        name: subject.input,
        datatype: "FP32",
        shape: subject.dims,
        parameters: { binary_data_size: data.byteLength },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const head = new TextEncoder().encode(header);
  const response = await fetch(`/v2/models/${subject.model}/infer`, {
    method: "POST",
    headers: { "Inference-Header-Content-Length": String(head.length) },
    body: new Blob([head, data as Float32Array<ArrayBuffer>]),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`infer answered ${response.status}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function latency(subject: Subject): Promise<LatencySeries> {
  const data = randomInput(subject);
  const peer = await startPeer(
    `/models/${subject.model}/1/model.onnx`,
    new URL("/naiad/ort/", location.href).href,
    THREADS,
  );
  const contenders = {
    "hand-written": () => peer.run(subject.input, data, subject.dims),
    sdk: () => sdkInfer(subject, data),
    fetch: () => fetchInfer(subject, data),
  };
  const samplesMs = { "hand-written": [] as number[], sdk: [] as number[], fetch: [] as number[] };
  for (let round = -5; round < SAMPLES; round += 1) {
    for (const name of ["hand-written", "sdk", "fetch"] as const) {
      const milliseconds = await timed(contenders[name]);
      if (round >= 0) samplesMs[name].push(milliseconds);
    }
  }
  peer.end();
  return { model: subject.model, inputBytes: data.byteLength, samplesMs };
}

async function executions(model: string): Promise<number> {
  const {
    model_stats: [first],
  } = await server.client.modelStatistics(model);
  return first?.execution_count ?? 0;
}

async function throughput(
  subject: Subject,
  clients: number,
  requestsPerRound: number,
): Promise<ThroughputSeries> {
  const data = randomInput(subject);
  const run = async (width: number): Promise<number> => {
    let left = requestsPerRound;
    const client = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await sdkInfer(subject, data);
      }
    };
    const milliseconds = await timed(() => Promise.all(Array.from({ length: width }, client)));
    return (requestsPerRound / milliseconds) * 1000;
  };
  await run(clients);
  const single: number[] = [];
  const concurrent: number[] = [];
  let executed = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    single.push(await run(1));
    const before = await executions(subject.model);
    concurrent.push(await run(clients));
    executed += (await executions(subject.model)) - before;
  }
  return {
    model: subject.model,
    clients,
    single,
    concurrent,
    executionsPerRequest: executed / (ROUNDS * requestsPerRound),
  };
}

async function environment(current: NaiadServer): Promise<BenchReport["environment"]> {
  const info = await current.info();
  const [instance] = await current.instances();
  const [gpu] = info.capabilities.gpus;
  return {
    userAgent: navigator.userAgent,
    hardwareConcurrency: navigator.hardwareConcurrency,
    crossOriginIsolated,
    adapter:
      gpu === undefined ? "none" : `${gpu.vendor} ${gpu.architecture}${gpu.isFallback ? " (software)" : ""}`,
    executionProvider: instance?.device?.executionProvider ?? "unknown",
    threads: THREADS,
  };
}

async function bench(): Promise<BenchReport> {
  return {
    environment: await environment(server),
    latency: [await latency(TINY), await latency(IMAGE)],
    throughput: [await throughput(TINY, 32, 640), await throughput(IMAGE, 32, 64)],
  };
}

const report = await bench().catch((error: unknown): BenchReport => ({
  environment: {},
  latency: [],
  throughput: [],
  error: String(error),
}));
await server.stop();
await fetch("/__report", { method: "POST", body: JSON.stringify(report) });
