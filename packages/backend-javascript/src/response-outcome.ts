import type { InstanceResponse } from "@naiad/core";
import type { BytesTensor, Parameters, ParameterValue } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InferenceResponse, ResponseParameters } from "./model/inference-response.ts";
import { Tensor } from "./model/tensor.ts";
import { typeName } from "./response-sender.ts";

/** What a response is held against. */
export interface ResponseTarget {
  readonly modelName: string;
  /** Names of the outputs that the request wants. */
  readonly outputs: readonly string[];
  /** Rows that each output must have; absent where the shapes are whole, or any number will do. */
  readonly rows?: number;
}

/**
 * A model's response as it travels: outputs that nobody asked for left out, the others on memory of their own, since the
 * model may go on using its arrays. Throws an InferenceError for what is none.
 */
export function responseOutcome(response: InferenceResponse, target: ResponseTarget): InstanceResponse {
  const { error, outputTensors } = response;
  if (error !== undefined) return { kind: "error", error: InferenceError.from(error).toWire() };
  const parameters = wireParameters(response.parameters);
  const names = new Set<string>();
  const outputs = outputTensors.flatMap((tensor: unknown) => {
    if (!(tensor instanceof Tensor)) {
      throw invalid(
        `Expected a 'Tensor' object in the output tensors of a response, found type '${typeName(tensor)}'.`,
      );
    }
    if (!target.outputs.includes(tensor.name)) return [];
    if (names.has(tensor.name)) {
      throw invalid(`output '${tensor.name}' of model '${target.modelName}' stands twice in a response`);
    }
    names.add(tensor.name);
    checkRows(tensor, target);
    return [copyOf(tensor)];
  });
  return { kind: "response", outputs, parameters };
}

export function copyOf({ name, datatype, shape, bytes }: Tensor): BytesTensor {
  return { kind: "bytes", name, datatype, shape: [...shape], bytes: new Uint8Array(bytes) };
}

/** Triton does not look, so that a single row for a batch of many comes back as if nothing were wrong. */
function checkRows({ name, shape }: Tensor, { modelName, rows }: ResponseTarget): void {
  if (rows === undefined || shape[0] === rows) return;
  throw invalid(
    `output '${name}' of model '${modelName}' has ${shape.length === 0 ? "no batch dimension" : `${shape[0] ?? 0} rows`}, ` +
      `expected ${rows}: its shape is [${shape.join(",")}] for a request with batch size ${rows}`,
  );
}

function wireParameters(parameters: ResponseParameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, wireParameter(value)]));
}

function wireParameter(value: unknown): ParameterValue {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  throw invalid(`Expect parameters values to have type bool/int/str, found type '${typeName(value)}'`);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INTERNAL", message);
}
