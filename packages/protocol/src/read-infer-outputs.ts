import { asBoolean, asString, asUnsigned, findMember, requireMember } from "./json-access.ts";
import type { JsonNode } from "./json-node.ts";
import type { RequestedOutput } from "./messages.ts";
import { rejectSharedMemory } from "./read-infer-inputs.ts";
import { requestIdPrefix } from "./request-id.ts";
import { InferenceError } from "./status.ts";
import type { TensorTransfer } from "./tensor-transfers.ts";

export interface InferOutputs {
  readonly requested: readonly RequestedOutput[];
  /** Every listed output has its own transfer, JSON when it says nothing. */
  readonly transfers: ReadonlyMap<string, TensorTransfer>;
}

export function readInferOutputs(nodes: readonly JsonNode[], id: string): InferOutputs {
  const requested: RequestedOutput[] = [];
  const transfers = new Map<string, TensorTransfer>();
  for (const node of nodes) {
    const parameters = findMember(node, "parameters") ?? null;
    checkSharedMemoryUse(parameters);
    const name = asString(requireMember(node, "name", "Unable to parse 'name'"), "Unable to parse 'name'");
    if (transfers.has(name)) {
      throw new InferenceError(
        "INVALID_ARG",
        `${requestIdPrefix(id)}output '${name}' already exists in request`,
      );
    }
    const classCount = readClassCount(parameters);
    rejectSharedMemory(node);
    transfers.set(name, readTransfer(parameters));
    requested.push(classCount === 0 ? { name } : { name, classCount });
  }
  return { requested, transfers };
}

function checkSharedMemoryUse(parameters: JsonNode): void {
  if (findMember(parameters, "shared_memory_region") === undefined) return;
  if (findMember(parameters, "classification") !== undefined) {
    throw new InferenceError(
      "INVALID_ARG",
      "Output can't set both 'shared_memory_region' and 'classification'",
    );
  }
  const binary = findMember(parameters, "binary_data");
  if (binary !== undefined && asBoolean(binary, "Unable to set 'binary_data'")) {
    throw new InferenceError("INVALID_ARG", "Output can't set both 'shared_memory_region' and 'binary_data'");
  }
}

function readClassCount(parameters: JsonNode): number {
  const count = findMember(parameters, "classification");
  return count === undefined ? 0 : Number(asUnsigned(count, "Unable to set 'classification'"));
}

function readTransfer(parameters: JsonNode): TensorTransfer {
  const binary = findMember(parameters, "binary_data");
  return binary !== undefined && asBoolean(binary, "Unable to parse 'binary_data'") ? "binary" : "json";
}
