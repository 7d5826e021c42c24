import type { BatchInputKind, BatchInputTarget } from "@naiad/protocol";
import type { BatchInput, ModelConfig } from "./gen/model_config_pb.ts";
import { BatchInput_Kind as Kind, DataType } from "./gen/model_config_pb.ts";

/** How the requests of a batch become the tensors of a model, where that is not row by row. */
export interface BatchSignature {
  /** Inputs of which requests with different shapes may share a batch: the model gets one list of their elements. */
  readonly raggedInputs: ReadonlySet<string>;
  readonly batchInputs: readonly BatchInputSignature[];
  /** By name of the output: the input by whose shape it is split among the requests. */
  readonly batchOutputs: ReadonlyMap<string, string>;
}

/** An input of the model that no client gives. */
export interface BatchInputSignature extends BatchInputTarget {
  readonly sourceInput: string;
}

/** `config` is valid. */
export function batchSignature(config: ModelConfig): BatchSignature {
  return {
    raggedInputs: new Set(config.input.flatMap((input) => (input.allowRaggedBatch ? [input.name] : []))),
    batchInputs: config.batchInput.flatMap(batchInputs),
    batchOutputs: new Map(
      config.batchOutput.flatMap(({ targetName, sourceInput }) =>
        targetName.map((name) => [name, sourceInput[0] ?? ""] as const),
      ),
    ),
  };
}

function batchInputs({
  kind,
  targetName,
  dataType,
  sourceInput,
}: BatchInput): readonly BatchInputSignature[] {
  return targetName.map((name) => ({
    name,
    kind: KINDS.get(kind) ?? "BATCH_ELEMENT_COUNT",
    datatype: dataType === DataType.TYPE_INT32 ? "INT32" : "FP32",
    sourceInput: sourceInput[0] ?? "",
  }));
}

const KINDS: ReadonlyMap<number, BatchInputKind> = new Map(
  Object.entries(Kind).map(([name, number]) => [number, name as keyof typeof Kind]),
);
