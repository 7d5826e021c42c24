import type { InferenceResponse as WireResponse } from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";
import { readBlsRequest } from "./bls-request.ts";
import { InferenceResponse } from "./model/inference-response.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferRequest, ModelArgs } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";
import type { ModelHost, ModelInferRequest } from "./model-host.ts";
import { readableParameters } from "./received-request.ts";

/** Business logic scripting: a model's requests to other models. */
export interface Bls extends Pick<ModelArgs, "infer" | "inferStream"> {
  /** Gives up every request that is under way. */
  end(): void;
}

const OUTSIDE = "BLS is only supported during the 'execute' function.";

/** `mayAsk`: whether the model executes, or still has to answer what it executed. */
export function createBls(host: Pick<ModelHost, "infer" | "inferStream">, mayAsk: () => boolean): Bls {
  const ended = new AbortController();

  function prepare(request: InferRequest): {
    readonly wire: ModelInferRequest;
    readonly signal: AbortSignal;
  } {
    if (!mayAsk()) throw new ModelError(OUTSIDE);
    const { wire, signal } = readBlsRequest(request);
    return {
      wire,
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
