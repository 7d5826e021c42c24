import type { ModelConfig, ModelSignature, ModelWarmup, ModelWarmup_Input } from "@naiad/model-config";
import { configDatatype } from "@naiad/model-config";
import type { BytesTensor, Datatype } from "@naiad/protocol";
import { elementByteSize, elementCount, InferenceError } from "@naiad/protocol";
import type { InstanceRequest, ModelFiles } from "../ports.ts";
import { normalizeModelPath } from "../repository/model-path.ts";
import { validateRequest } from "../request/inference-request.ts";
import { madeUpElements } from "./made-up-elements.ts";

/** One entry of `model_warmup`, ready to be executed. */
export interface WarmUpSample {
  readonly name: string;
  /** How often the batch is executed. */
  readonly count: number;
  /** One batch. Its requests are equal and share their tensors. */
  readonly requests: readonly InstanceRequest[];
}

export interface WarmUpModel {
  readonly config: ModelConfig;
  readonly signature: ModelSignature;
  readonly files: ModelFiles;
}

/**
 * The requests that `model_warmup` asks for; an entry with batch size 0 asks for none. Rejects with Triton's texts where
 * an entry does not fit the model or its data file cannot be read.
 */
export async function warmUpSamples(model: WarmUpModel): Promise<readonly WarmUpSample[]> {
  const samples: WarmUpSample[] = [];
  for (const warmUp of model.config.modelWarmup) {
    if (warmUp.batchSize === 0) continue;
    const request = await sampleRequest(warmUp, model);
    samples.push({
      name: warmUp.name,
      count: Math.max(warmUp.count, 1),
      requests: new Array<InstanceRequest>(warmUp.batchSize).fill(request),
    });
  }
  return samples;
}

async function sampleRequest(warmUp: ModelWarmup, model: WarmUpModel): Promise<InstanceRequest> {
  const { signature } = model;
  const { name } = signature;
  const inputs: BytesTensor[] = [];
  /** Tensors that only the model itself knows, such as the controls of a sequence. */
  const others: BytesTensor[] = [];
  for (const [inputName, input] of Object.entries(warmUp.inputs)) {
    const isInput = signature.inputs.some((candidate) => candidate.name === inputName);
    const dims = fixedDims(inputName, input);
    const datatype = configDatatype(input.dataType);
    const tensor: BytesTensor = {
      kind: "bytes",
      name: inputName,
      datatype,
      shape: isInput && signature.maxBatchSize > 0 ? [1, ...dims] : dims,
      bytes: await inputContent(inputName, input, { datatype, count: elementCount(dims) }, model),
    };
    (isInput ? inputs : others).push(tensor);
  }
  const request = { modelName: name, modelVersion: "", id: "", parameters: {}, inputs, outputs: [] };
  const valid = validateRequest(request, { name, signature });
  return { ...valid, inputs: [...valid.inputs, ...others] };
}

function fixedDims(name: string, { dims }: ModelWarmup_Input): readonly number[] {
  if (dims.every((dim) => dim >= 0n)) return dims.map(Number);
  throw new InferenceError(
    "INVALID_ARG",
    `warmup setting expects all variable-size dimensions are specified for input '${name}'`,
  );
}

async function inputContent(
  name: string,
  { inputDataType: source }: ModelWarmup_Input,
  { datatype, count }: { readonly datatype: Datatype; readonly count: number },
  model: WarmUpModel,
): Promise<Uint8Array> {
  switch (source.case) {
    case "zeroData":
      return madeUpElements(datatype, count, "zero");
    case "randomData":
      return madeUpElements(datatype, count, "random");
    case "inputDataFile": {
      const bytes = await readDataFile(source.value, model);
      if (datatype === "BYTES") return bytes;
      const byteLength = count * elementByteSize(datatype);
      if (byteLength <= bytes.byteLength) return bytes.subarray(0, byteLength);
      throw new InferenceError(
        "INVALID_ARG",
        `warmup setting expects ${byteLength} bytes, but the data provided from ${source.value}only has ` +
          `${bytes.byteLength} bytes`,
      );
    }
    case undefined:
      throw new InferenceError(
        "INVALID_ARG",
        `warmup setting expects input '${name}' to have input_data_type set`,
      );
  }
}

async function readDataFile(fileName: string, { config, files }: WarmUpModel): Promise<Uint8Array> {
  const path = normalizeModelPath(`warmup/${fileName}`);
  if (path !== undefined && files.entries.some((file) => file.path === path)) return files.read(path);
  throw new InferenceError(
    "INTERNAL",
    `failed to open text file for read ${config.name}/warmup/${fileName}: No such file or directory`,
  );
}
