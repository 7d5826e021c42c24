import type { ModelConfig, ModelSignature, ModelWarmup, ModelWarmup_Input } from "@naiad/model-config";
import { configDatatype, toSize } from "@naiad/model-config";
import type { BytesTensor, Datatype } from "@naiad/protocol";
import { InferenceError, madeUpElements } from "@naiad/protocol";
import type { InstanceRequest, ModelFiles } from "../ports.ts";
import { validateRequest } from "../request/inference-request.ts";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import { controlTensors } from "../scheduling/sequence/control-tensors.ts";
import { executedRequest } from "../scheduling/sequence/executed-request.ts";
import type { SequenceState } from "../scheduling/sequence/sequence-states.ts";
import { initialStates } from "../scheduling/sequence/sequence-states.ts";
import { checkedCount } from "./checked-count.ts";
import { readConfiguredElements } from "./read-configured-file.ts";

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
  /** Of sequences. */
  readonly states: readonly SequenceState[];
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
  /** Tensors that only the model itself knows: controls and states of a sequence that differ from those of its first step. */
  const others: BytesTensor[] = [];
  for (const [inputName, input] of Object.entries(warmUp.inputs)) {
    const isInput = signature.inputs.some((candidate) => candidate.name === inputName);
    const dims = fixedDims(inputName, input);
    const datatype = configDatatype(input.dataType);
    const count = checkedCount({ name: inputName, datatype, shape: dims });
    const tensor: BytesTensor = {
      kind: "bytes",
      name: inputName,
      datatype,
      shape: signature.maxBatchSize > 0 ? [1, ...dims] : dims,
      bytes: await inputContent(inputName, input, { datatype, count }, model),
    };
    (isInput ? inputs : others).push(tensor);
  }
  const request = { modelName: name, modelVersion: "", id: "", parameters: {}, inputs, outputs: [] };
  const valid = validateRequest(request, { name, signature });
  const executed = firstStep(valid, model);
  const own = new Set(others.map(({ name: other }) => other));
  return { ...executed, inputs: [...executed.inputs.filter((input) => !own.has(input.name)), ...others] };
}

/** The request as a whole sequence where the model wants sequences. */
function firstStep(valid: ValidRequest, { config, signature, states }: WarmUpModel): InstanceRequest {
  const { schedulingChoice: choice } = config;
  if (choice.case !== "sequenceBatching") return valid;
  const controls = controlTensors(choice.value, signature);
  const id = controls.correlationId?.datatype === "BYTES" ? "1" : 1n;
  const flags = { id, start: true, end: true };
  return executedRequest(valid, { flags, controls, states, current: initialStates(states) });
}

function fixedDims(name: string, { dims }: ModelWarmup_Input): readonly number[] {
  if (dims.every((dim) => dim >= 0n)) return dims.map((dim) => toSize(name, dim));
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
      const { config, files } = model;
      const path = `warmup/${source.value}`;
      return readConfiguredElements(
        { modelName: config.name, path, files },
        {
          datatype,
          count,
          tooShort: ({ expected, found }) =>
            `warmup setting expects ${expected} bytes, but the data provided from ${source.value}only has ${found} bytes`,
        },
      );
    }
    case undefined:
      throw new InferenceError(
        "INVALID_ARG",
        `warmup setting expects input '${name}' to have input_data_type set`,
      );
  }
}
