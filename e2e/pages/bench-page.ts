import type { NaiadServer } from "naiad";
import { startServer } from "naiad";
import type { EnsembleSeries } from "./bench-ensemble.ts";
import { ensembleLatency } from "./bench-ensemble.ts";
import { startPeer } from "./peer.ts";

/** What the page sends back: raw samples in milliseconds, so that the report can be recomputed. */
export interface BenchReport {
  readonly environment: Readonly<Record<string, string | number | boolean>>;
  readonly latency: readonly LatencySeries[];
  readonly throughput: readonly ThroughputSeries[];
  readonly scaling: readonly ScalingSeries[];
  readonly ensemble: readonly EnsembleSeries[];
  /** What was not measured, and why. */
  readonly skipped: readonly string[];
  readonly error?: string;
}

/** What the switch `--only` of the benchmark picks. */
export type BenchPart = "latency" | "throughput" | "scaling" | "ensemble";

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

/** One model under one configuration; the configurations of a model take turns. */
export interface ScalingSeries {
  readonly model: string;
  readonly batching: boolean;
  readonly instances: number;
  /** By the number of clients, in ascending order. */
  readonly byClients: readonly {
    readonly clients: number;
    /** Requests per second of each round. */
    readonly perSecond: readonly number[];
    /** Requests per execution over all rounds. */
    readonly batch: number;
  }[];
}

interface Subject {
  readonly model: string;
  readonly input: string;
  readonly dims: readonly number[];
}

const TINY: Subject = { model: "mlp_2x128", input: "INPUT", dims: [1, 128] };
const IMAGE: Subject = { model: "cnn_224", input: "IMAGE", dims: [1, 3, 224, 224] };
const EMBEDDING: Subject = { model: "wake_embedding", input: "input_1", dims: [1, 76, 32, 1] };
const THREADS = 1;
const ONLY = new URLSearchParams(location.search).get("only");
/** A software adapter serves for KIND_GPU. */
const SOFTWARE_GPU = new URLSearchParams(location.search).get("software-gpu") !== null;
const SAMPLES = Number(new URLSearchParams(location.search).get("samples") ?? 40);
const ROUNDS = 5;
const SCALING_CLIENTS = [1, 8, 32];
const SCALING_ROUNDS = 3;
const SCALING_ROUND_MS = 600;
/** Half a kilobyte, and an image. */
const ENSEMBLE_ELEMENTS = [128, 3 * 224 * 224];

const server = await startServer({
  modelRepository: "/models/",
  loadModels: [TINY.model, IMAGE.model],
  threads: THREADS,
  allowSoftwareGpu: SOFTWARE_GPU,
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

/** The same model under a name of its own. */
interface Variant {
  readonly name: string;
  readonly batching: boolean;
  readonly instances: number;
}

function variantsOf({ model }: Subject): readonly Variant[] {
  return [1, 2].flatMap((instances) =>
    [false, true].map((batching) => ({
      name: `${model}_${batching ? "batching" : "alone"}_${instances}`,
      batching,
      instances,
    })),
  );
}

/** Loads each variant from the files of the repository. */
async function loadVariants({ model }: Subject, variants: readonly Variant[]): Promise<void> {
  await server.client.loadModel(model);
  const config = await server.client.modelConfig(model);
  await server.client.unloadModel(model);
  const response = await fetch(`/models/${model}/1/model.onnx`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (const { name, batching, instances } of variants) {
    const variant = {
      ...config,
      name,
      instance_group: [{ kind: "KIND_CPU", count: instances }],
      dynamic_batching: batching ? {} : undefined,
    };
    await server.client.loadModel(name, {
      config: JSON.stringify(variant),
      files: { "1/model.onnx": bytes },
    });
  }
}

async function requestsPerSecond(subject: Subject, data: Float32Array, clients: number): Promise<number> {
  let answered = 0;
  const start = performance.now();
  const client = async (): Promise<void> => {
    while (performance.now() - start < SCALING_ROUND_MS) {
      await sdkInfer(subject, data);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (answered / (performance.now() - start)) * 1000;
}

async function counts(model: string): Promise<{ readonly inferences: number; readonly executed: number }> {
  const {
    model_stats: [first],
  } = await server.client.modelStatistics(model);
  return { inferences: first?.inference_count ?? 0, executed: first?.execution_count ?? 0 };
}

async function scaling(subject: Subject): Promise<readonly ScalingSeries[]> {
  const data = randomInput(subject);
  const variants = variantsOf(subject);
  await loadVariants(subject, variants);
  const series = variants.map(({ name, batching, instances }) => ({
    target: { ...subject, model: name },
    shown: {
      model: subject.model,
      batching,
      instances,
      byClients: SCALING_CLIENTS.map((clients) => ({ clients, perSecond: [] as number[], batch: 0 })),
    },
  }));
  for (const { target } of series) await requestsPerSecond(target, data, 8);
  for (const [index, clients] of SCALING_CLIENTS.entries()) {
    const before = await Promise.all(series.map(({ target }) => counts(target.model)));
    for (let round = 0; round < SCALING_ROUNDS; round += 1) {
      for (const { target, shown } of series) {
        shown.byClients[index]?.perSecond.push(await requestsPerSecond(target, data, clients));
      }
    }
    for (const [at, { target, shown }] of series.entries()) {
      const after = await counts(target.model);
      const cell = shown.byClients[index];
      const was = before[at];
      if (cell === undefined || was === undefined) continue;
      cell.batch = (after.inferences - was.inferences) / (after.executed - was.executed);
    }
  }
  for (const { name } of variants) await server.client.unloadModel(name);
  return series.map(({ shown }) => shown);
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
  const wants = (part: BenchPart): boolean => ONLY === null || ONLY === part;
  const index = await server.client.repositoryIndex();
  const skipped: string[] = [];
  const scaled: ScalingSeries[] = [];
  if (wants("scaling")) {
    for (const subject of [TINY, EMBEDDING, IMAGE]) {
      if (index.some(({ name }) => name === subject.model)) scaled.push(...(await scaling(subject)));
      else skipped.push(`${subject.model}: the model repository has no such model`);
    }
  }
  const ensembles: EnsembleSeries[] = [];
  if (wants("ensemble")) {
    const { gpus } = (await server.info()).capabilities;
    const hasGpu = gpus.some(({ isFallback }) => !isFallback || SOFTWARE_GPU);
    if (!hasGpu) skipped.push("ensembles on WebGPU: there is no adapter");
    for (const device of hasGpu ? (["CPU", "GPU"] as const) : (["CPU"] as const)) {
      for (const elements of ENSEMBLE_ELEMENTS)
        ensembles.push(await ensembleLatency(server, { device, elements, samples: SAMPLES }));
    }
  }
  // Those were unloaded to make room for their variants.
  for (const { model } of [TINY, IMAGE]) await server.client.loadModel(model);
  return {
    environment: await environment(server),
    latency: wants("latency") ? [await latency(TINY), await latency(IMAGE)] : [],
    throughput: wants("throughput") ? [await throughput(TINY, 32, 640), await throughput(IMAGE, 32, 64)] : [],
    scaling: scaled,
    ensemble: ensembles,
    skipped,
  };
}

const report = await bench().catch((error: unknown): BenchReport => ({
  environment: {},
  latency: [],
  throughput: [],
  scaling: [],
  ensemble: [],
  skipped: [],
  error: String(error),
}));
await server.stop();
await fetch("/__report", { method: "POST", body: JSON.stringify(report) });
