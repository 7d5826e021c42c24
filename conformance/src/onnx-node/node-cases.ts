import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { byteSourceOf, readOnnxModel } from "@naiad/model-config";
import type { OnnxModel, OnnxValue } from "@naiad/model-config";
import { readOnnxTensor } from "../onnx-tensor.ts";
import type { V2Tensor } from "../v2-tensor.ts";

/** One case of ONNX's backend tests: a model, and what comes out of it for what goes in. */
export interface NodeCase {
  readonly suite: string;
  readonly name: string;
  /** How it went on onnxruntime-web alone: `pass`, `pass_loose`, or why not. */
  readonly onBareEngine: string;
  readonly model: Uint8Array;
  /** `undefined` where a tensor is of a type that V2 has no word for, or no tensor at all. */
  readonly dataSets: readonly DataSet[] | undefined;
}

export interface DataSet {
  readonly inputs: readonly V2Tensor[];
  readonly outputs: readonly V2Tensor[];
}

/** Element types in the list of cases that V2 carries and onnxruntime-web has. */
const CARRIED = new Set([
  ...["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"],
  ...["float16", "float32", "float64", "string"],
]);

export function hasPassed({ onBareEngine }: Pick<NodeCase, "onBareEngine">): boolean {
  return onBareEngine === "pass" || onBareEngine === "pass_loose";
}

/** Unpacks the cases of `<folder>/onnx-node` and reads them one by one; what was unpacked is gone afterwards. */
export async function* nodeCases(folder: string): AsyncGenerator<NodeCase> {
  const directory = join(folder, "onnx-node");
  const archive = (await readdir(directory)).find((name) => name.endsWith(".tar.xz"));
  if (archive === undefined) throw new Error(`no archive *.tar.xz in ${directory}`);
  const rows = parseRows(await readFile(join(directory, "expected.csv"), "utf8"));
  const unpacked = await mkdtemp(join(tmpdir(), "onnx-node-"));
  try {
    await promisify(execFile)("tar", ["-xJf", join(directory, archive), "-C", unpacked]);
    for (const row of rows) yield await readCase(unpacked, row);
  } finally {
    await rm(unpacked, { recursive: true });
  }
}

interface CaseRow {
  readonly suite: string;
  readonly name: string;
  readonly onBareEngine: string;
  readonly types: readonly string[];
}

function parseRows(csv: string): readonly CaseRow[] {
  return csv
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => {
      const [suite = "", name = "", onBareEngine = "", types = ""] = line.trim().split(",");
      return { suite, name, onBareEngine, types: types.split(" ").filter((type) => type !== "") };
    });
}

async function readCase(unpacked: string, { suite, name, onBareEngine, types }: CaseRow): Promise<NodeCase> {
  const directory = join(unpacked, suite, name);
  const model = await readFile(join(directory, "model.onnx"));
  const dataSets = types.every((type) => CARRIED.has(type))
    ? await readDataSets(directory, model)
    : undefined;
  return { suite, name, onBareEngine, model, dataSets };
}

async function readDataSets(directory: string, model: Uint8Array): Promise<readonly DataSet[] | undefined> {
  const onnx = await readOnnxModel(byteSourceOf(model));
  const sets: DataSet[] = [];
  const names = (await readdir(directory)).filter((entry) => entry.startsWith("test_data_set_")).sort();
  for (const name of names) {
    const inputs = await readTensors(join(directory, name), "input", inputValues(onnx));
    const outputs = await readTensors(join(directory, name), "output", onnx.outputs);
    if (inputs === undefined || outputs === undefined) return undefined;
    sets.push({ inputs, outputs });
  }
  return sets;
}

function inputValues({ inputs, overridableInitializers }: OnnxModel): readonly OnnxValue[] {
  return [...inputs, ...overridableInitializers];
}

async function readTensors(
  directory: string,
  kind: "input" | "output",
  values: readonly OnnxValue[],
): Promise<readonly V2Tensor[] | undefined> {
  if (values.some(({ type }) => type.kind !== "tensor")) return undefined;
  const tensors: V2Tensor[] = [];
  const files = (await readdir(directory)).filter((file) => file.startsWith(`${kind}_`)).length;
  for (let index = 0; index < files; index += 1) {
    const tensor = readOnnxTensor(await readFile(join(directory, `${kind}_${index}.pb`)));
    if (tensor === undefined) return undefined;
    tensors.push({ ...tensor, name: values[index]?.name ?? tensor.name });
  }
  return tensors;
}

/** Triton has no tensors without dimensions: a scalar of a model is one element. */
export function clientShaped<Tensor extends { readonly shape: readonly number[] }>(tensor: Tensor): Tensor {
  return tensor.shape.length === 0 ? { ...tensor, shape: [1] } : tensor;
}
