import type { ExternalFile } from "@naiad/backend-onnxruntime";
import { externalFilePaths, onnxFilePath } from "@naiad/backend-onnxruntime";
import type { FileStore, StoreLocation } from "@naiad/core";
import { storedModelFiles } from "@naiad/core";
import type { ModelConfig, OnnxModel } from "@naiad/model-config";
import { byteSourceOf, readOnnxModel } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { InstanceCreate } from "../contracts.ts";

export interface ModelContent {
  readonly model: Uint8Array;
  readonly onnx: OnnxModel;
  readonly externalFiles: readonly ExternalFile[];
}

/** The version's ONNX file and the weights that it keeps in other files, from this worker's own store or as posted. */
export async function readModel(
  create: InstanceCreate,
  config: ModelConfig,
  openStore: (location: StoreLocation) => FileStore | undefined,
): Promise<ModelContent> {
  const read = fileReader(create, openStore);
  const location = { modelName: create.modelName, version: create.version, config, files: create.files };
  const path = onnxFilePath(location);
  const model = await read(path);
  const onnx = await readOnnxModel(byteSourceOf(model));
  const externalFiles: ExternalFile[] = [];
  for (const file of externalFilePaths(location, path, onnx)) {
    externalFiles.push({ path: file.location, bytes: await read(file.path) });
  }
  return { model, onnx, externalFiles };
}

/** Reads the model's files from this worker's own store, or as they were posted. */
export function fileReader(
  { files, location, bytes = {} }: InstanceCreate,
  openStore: (location: StoreLocation) => FileStore | undefined,
): (path: string) => Promise<Uint8Array> {
  const store = openStore(location);
  if (store !== undefined) {
    const stored = storedModelFiles(files, store);
    return (path) => stored.read(path);
  }
  return async (path) => {
    const content = Object.hasOwn(bytes, path) ? bytes[path] : undefined;
    if (content === undefined)
      throw new InferenceError("NOT_FOUND", `no file '${path}' was posted with the model`);
    return Promise.resolve(content);
  };
}
