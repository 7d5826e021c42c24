import type {
  InferenceRequest,
  InferenceResponse as WireResponse,
  Parameters,
  ParameterValue,
} from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";
import { SEQUENCE_END, SEQUENCE_START } from "./model/flags.ts";
import { InferenceResponse } from "./model/inference-response.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferRequest, ModelArgs, RequestParameter } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";
import type { ModelHost } from "./model-host.ts";
import { readableParameters } from "./received-request.ts";
import { copyOf } from "./response-outcome.ts";
import { typeName } from "./response-sender.ts";

/** Business logic scripting: a model's requests to other models. */
export interface Bls extends Pick<ModelArgs, "infer" | "inferStream"> {
  /** Gives up every request that is under way. */
  end(): void;
}

const OUTSIDE = "BLS is only supported during the 'execute' function.";

/** `mayAsk`: whether the model executes, or still has to answer what it executed. */
export function createBls(host: Pick<ModelHost, "infer" | "inferStream">, mayAsk: () => boolean): Bls {
  const ended = new AbortController();

  function prepare(request: InferRequest): { readonly wire: InferenceRequest; readonly signal: AbortSignal } {
    if (!mayAsk()) throw new ModelError(OUTSIDE);
    const { signal } = request;
    return {
      wire: wireRequest(request),
      signal: signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]),
    };
  }

  return {
    async infer(request) {
      const { wire, signal } = prepare(request);
      try {
        return responseOf(await host.infer(wire, signal));
      } catch (thrown) {
        return failureOf(wire.modelName, thrown);
      }
    },
    async *inferStream(request) {
      const { wire, signal } = prepare(request);
      try {
        for await (const response of host.inferStream(wire, signal)) {
          yield response.error === undefined
            ? responseOf(response)
            : failureOf(wire.modelName, response.error);
        }
      } catch (thrown) {
        yield failureOf(wire.modelName, thrown);
      }
    },
    end() {
      ended.abort(new InferenceError("CANCELLED", "the model was unloaded"));
    },
  };
}

/** Throws INVALID_ARG for what no server would take. Inputs are copied: the model keeps its arrays. */
function wireRequest(request: InferRequest): InferenceRequest {
  const { modelName, modelVersion = "", inputs, requestedOutputNames = [], requestId = "" } = request;
  const { correlationId = 0, flags = 0, priority, timeout, parameters = {} } = request;
  if (typeof modelName !== "string" || modelName === "") throw invalid("BLS requests need a 'modelName'");
  if (!Array.isArray(inputs))
    throw invalid(`inputs of BLS requests must be a list, found type '${typeName(inputs)}'`);
  const hasSequence = flags !== 0 || (correlationId !== 0 && correlationId !== 0n && correlationId !== "");
  const id = typeof correlationId === "number" ? BigInt(correlationId) : correlationId;
  return {
    modelName,
    modelVersion: String(modelVersion),
    id: requestId,
    parameters: wireParameters(parameters),
    ...(hasSequence && {
      sequence: { id, start: (flags & SEQUENCE_START) !== 0, end: (flags & SEQUENCE_END) !== 0 },
    }),
    ...(priority !== undefined && { priority }),
    ...(timeout !== undefined && { timeoutUs: timeout }),
    inputs: inputs.map((tensor: unknown) => {
      if (tensor instanceof Tensor) return copyOf(tensor);
      throw invalid(
        `Expected a 'Tensor' object in the inputs of a BLS request, found type '${typeName(tensor)}'`,
      );
    }),
    outputs: requestedOutputNames.map((name) => ({ name })),
  };
}

function wireParameters(parameters: Readonly<Record<string, RequestParameter>>): Parameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]): [string, ParameterValue] => [
      name,
      typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value,
    ]),
  );
}

function responseOf({ outputs, parameters }: WireResponse): InferenceResponse {
  return new InferenceResponse({
    outputTensors: outputs.map((tensor) => {
      invariant(tensor.kind === "bytes", "outputs that leave the server lie in memory");
      return Tensor.fromBytes(tensor.name, tensor.datatype, tensor.shape, tensor.bytes);
    }),
    parameters: readableParameters(parameters),
  });
}

function failureOf(modelName: string, thrown: unknown): InferenceResponse {
  const { code, message } = InferenceError.from(thrown);
  return new InferenceResponse({ error: new ModelError(blsText(modelName, code, message), code) });
}

/** Triton's texts for what only a BLS request is told. */
function blsText(modelName: string, code: string, message: string): string {
  if (code === "UNSUPPORTED" && message.includes("decoupled transaction policy")) {
    return (
      `model '${modelName}' is using the decoupled. The current BLS request call doesn't support models using the ` +
      "decoupled transaction policy. Please use 'inferStream' for decoupled models."
    );
  }
  return message;
}

function invalid(message: string): ModelError {
  return new ModelError(message, "INVALID_ARG");
}
