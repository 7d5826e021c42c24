import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { OnnxModel } from "@naiad/model-config";
import { byteSourceOf, parseConfigText, readOnnxModel } from "@naiad/model-config";
import type { BytesTensor, Datatype } from "@naiad/protocol";
import { encodeBytesElements } from "@naiad/protocol";
import { fixtureModels } from "@naiad/testing/fixture-models";
import { expect, onTestFinished } from "vitest";
import type { OnnxEngine, Ort } from "../src/engine.ts";
import type { OnnxInstance } from "../src/instance.ts";
import { createOnnxInstance } from "../src/instance.ts";
import type { ExternalFile } from "../src/session-options.ts";
import { startEngine } from "../src/start-engine.ts";

const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
let started: Promise<Ort> | undefined;

/** What is known of bytes that are no model. */
const NO_MODEL: OnnxModel = {
  irVersion: 0,
  opsets: [],
  inputs: [],
  overridableInitializers: [],
  outputs: [],
  initializerNames: new Set(),
  externalFiles: [],
};

interface Loaded {
  readonly instance: OnnxInstance;
  readonly runs: string[];
  readonly log: string[];
}

/** A model in the engine on the CPU, released when the test is over. */
export async function load(
  config: string,
  model: Uint8Array,
  externalFiles: readonly ExternalFile[] = [],
): Promise<Loaded> {
  const runs: string[] = [];
  const log: string[] = [];
  const instance = await createOnnxInstance(
    await (started ??= startEngine(ENGINE, { ortUrl: "", threads: 1 })),
    ENGINE.build,
    {
      config: parseConfigText(config, { fileName: "config.pbtxt" }),
      model,
      onnx: await readOnnxModel(byteSourceOf(model)).catch(() => NO_MODEL),
      externalFiles,
      target: { kind: "wasm" },
    },
    { onRun: (kind) => runs.push(kind), log: (level, message) => log.push(`${level}: ${message}`) },
  );
  onTestFinished(async () => {
    await instance.release();
  });
  return { instance, runs, log };
}

export async function loadFixture(name: string): Promise<Loaded> {
  const files = fixtureModels().find((model) => model.name === name)?.files ?? {};
  const { "config.pbtxt": config, "1/model.onnx": model, "1/weights.bin": weights } = files;
  if (typeof config !== "string" || !(model instanceof Uint8Array)) throw new Error(`no fixture ${name}`);
  const external = weights instanceof Uint8Array ? [{ path: "weights.bin", bytes: weights }] : [];
  return load(config, model, external);
}

export function bytes(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  content: Uint8Array,
): BytesTensor {
  return { kind: "bytes", name, datatype, shape, bytes: content };
}

export function fp32(name: string, shape: readonly number[], values: readonly number[]): BytesTensor {
  return bytes(name, "FP32", shape, new Uint8Array(new Float32Array(values).buffer));
}

export function int64(name: string, shape: readonly number[], values: readonly bigint[]): BytesTensor {
  return bytes(name, "INT64", shape, new Uint8Array(new BigInt64Array(values).buffer));
}

export function texts(
  name: string,
  shape: readonly number[],
  values: readonly (string | Uint8Array)[],
): BytesTensor {
  return bytes(name, "BYTES", shape, encodeBytesElements(values));
}

export function request(
  inputs: readonly BytesTensor[],
  outputs: readonly string[],
  batchSize?: number,
): InstanceRequest {
  return { id: "", inputs, outputs, batchSize: batchSize ?? inputs[0]?.shape[0] ?? 0, parameters: {} };
}

export async function outcomesOf(
  { instance }: Loaded,
  ...requests: readonly InstanceRequest[]
): Promise<readonly InstanceOutcome[]> {
  const { outcomes } = await instance.execute(requests);
  expect(outcomes).toHaveLength(requests.length);
  return outcomes;
}

export function outputsOf(outcome: InstanceOutcome | undefined): readonly BytesTensor[] {
  if (outcome?.kind === "error") throw new Error(outcome.error.message);
  if (outcome?.kind !== "response") throw new Error(`outcome: ${outcome?.kind ?? "none"}`);
  return outcome.outputs.map((tensor) => {
    if (tensor.kind !== "bytes") throw new Error("a tensor on a device");
    return tensor;
  });
}

export function floatsOf(tensor: BytesTensor | undefined): number[] {
  return tensor === undefined ? [] : [...new Float32Array(tensor.bytes.slice().buffer)];
}
