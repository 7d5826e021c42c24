import type { NaiadServer } from "naiad";

/** One ensemble of three steps against its steps asked one after the other, each answer being the next question. */
export interface EnsembleSeries {
  readonly device: "CPU" | "GPU";
  readonly tensorBytes: number;
  /** Samples by contender, taken in turn. */
  readonly samplesMs: Readonly<Record<EnsembleContender, readonly number[]>>;
  /** Tensors read from the GPU for each request of the ensemble. */
  readonly readbacksPerRequest: number;
}

const ENSEMBLE_CONTENDERS = ["sdk ensemble", "sdk steps", "fetch ensemble", "fetch steps"] as const;
export type EnsembleContender = (typeof ENSEMBLE_CONTENDERS)[number];

type Tensor = Float32Array<ArrayBuffer>;
type Device = EnsembleSeries["device"];

/** Of the model behind each step, which gives its input back: what is measured is the way between steps. */
const MODEL = "identity_fp32";
const STEPS = [0, 1, 2];
const WARM_UP = 5;

export async function ensembleLatency(
  server: NaiadServer,
  {
    device,
    elements,
    samples,
  }: { readonly device: Device; readonly elements: number; readonly samples: number },
): Promise<EnsembleSeries> {
  const { client } = server;
  const ensemble = `chain_${device}_${String(elements)}`;
  const models = STEPS.map((step) => `${ensemble}_${String(step)}`);
  const response = await fetch(`/models/${MODEL}/1/model.onnx`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const load = (name: string, config: object, files: Readonly<Record<string, Uint8Array>>): Promise<void> =>
    client.loadModel(name, { config: JSON.stringify({ name, ...config }), files });
  for (const model of models) await load(model, stepConfig(device, elements), { "1/model.onnx": bytes });
  await load(ensemble, ensembleConfig(models, elements), { "1/empty": new Uint8Array(1) });

  const data = Float32Array.from({ length: elements }, () => Math.random());
  const sdk = async (modelName: string, input: Tensor): Promise<Tensor> => {
    const { outputs } = await client.infer({
      modelName,
      inputs: { INPUT0: { data: input, shape: [1, elements] } },
    });
    return outputs["OUTPUT0"]?.data as Tensor;
  };
  const chain = async (ask: typeof sdk): Promise<Tensor> => {
    let tensor = data;
    for (const model of models) tensor = await ask(model, tensor);
    return tensor;
  };
  const contenders: Readonly<Record<EnsembleContender, () => Promise<Tensor>>> = {
    "sdk ensemble": () => sdk(ensemble, data),
    "sdk steps": () => chain(sdk),
    "fetch ensemble": () => fetchInfer(ensemble, data),
    "fetch steps": () => chain(fetchInfer),
  };
  const readbacks = async (): Promise<number> => {
    const counted = (await server.instances()).filter(({ modelName }) => models.includes(modelName));
    return counted.reduce((sum, { readbacks: count = 0 }) => sum + count, 0);
  };

  const before = await readbacks();
  const counted = 4;
  for (let request = 0; request < counted; request += 1) await contenders["sdk ensemble"]();
  const readbacksPerRequest = ((await readbacks()) - before) / counted;
  const samplesMs = {
    "sdk ensemble": [],
    "sdk steps": [],
    "fetch ensemble": [],
    "fetch steps": [],
  } as Record<EnsembleContender, number[]>;
  for (let round = -WARM_UP; round < samples; round += 1) {
    for (const name of shuffled(ENSEMBLE_CONTENDERS)) {
      const start = performance.now();
      const answer = await contenders[name]();
      const milliseconds = performance.now() - start;
      if (answer.length !== elements || answer[1] !== data[1]) throw new Error(`${name}: a wrong answer`);
      if (round >= 0) samplesMs[name].push(milliseconds);
    }
  }
  for (const model of [ensemble, ...models]) await client.unloadModel(model);
  return { device, tensorBytes: data.byteLength, samplesMs, readbacksPerRequest };
}

/** Whoever comes after a fetch finds the workers asleep: it must not always be the same. */
function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}

function tensors(elements: number): object {
  const dims = [elements];
  return {
    max_batch_size: 8,
    input: [{ name: "INPUT0", data_type: "TYPE_FP32", dims }],
    output: [{ name: "OUTPUT0", data_type: "TYPE_FP32", dims }],
  };
}

function stepConfig(device: Device, elements: number): object {
  return {
    backend: "onnxruntime",
    ...tensors(elements),
    instance_group: [{ kind: `KIND_${device}`, count: 1 }],
  };
}

function ensembleConfig(models: readonly string[], elements: number): object {
  const step = models.map((model_name, index) => ({
    model_name,
    model_version: -1,
    input_map: { INPUT0: index === 0 ? "INPUT0" : `between_${String(index)}` },
    output_map: { OUTPUT0: index === models.length - 1 ? "OUTPUT0" : `between_${String(index + 1)}` },
  }));
  return { platform: "ensemble", ...tensors(elements), ensemble_scheduling: { step } };
}

async function fetchInfer(model: string, data: Tensor): Promise<Tensor> {
  const header = JSON.stringify({
    inputs: [
      {
        name: "INPUT0",
        datatype: "FP32",
        shape: [1, data.length],
        parameters: { binary_data_size: data.byteLength },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const head = new TextEncoder().encode(header);
  const response = await fetch(`/v2/models/${model}/infer`, {
    method: "POST",
    headers: { "Inference-Header-Content-Length": String(head.length) },
    body: new Blob([head, data]),
  });
  if (!response.ok) throw new Error(`infer answered ${response.status}: ${await response.text()}`);
  const begin = Number(response.headers.get("Inference-Header-Content-Length"));
  return new Float32Array((await response.arrayBuffer()).slice(begin));
}
