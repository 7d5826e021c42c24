import type { InferenceStreamResponse } from "@naiad/protocol";
import type { ModelInferRequest } from "./gen/grpc_service_pb.ts";
import { type InferResponseInit, writeInferResponse } from "./write-infer-response.ts";

/** A ModelStreamInferResponse. */
export interface StreamResponseInit {
  errorMessage?: string;
  inferResponse: InferResponseInit;
}

/** Said in every response but a refusal: whether another follows for its request. */
export type Finality = "final" | "more to come";

/** A request that was not taken on: only the id says whose. */
export function refusal({ id }: ModelInferRequest, message: string): StreamResponseInit {
  return { errorMessage: message, inferResponse: { id } };
}

/** An error in the place of a response. The model and its version stand as the request has them. */
export function failure(request: ModelInferRequest, message: string, finality: Finality): StreamResponseInit {
  return { errorMessage: message, inferResponse: withFinality(responseTo(request), finality) };
}

/** The end of a request, told for itself. */
export function emptyFinal(request: ModelInferRequest): StreamResponseInit {
  return { inferResponse: withFinality(responseTo(request), "final") };
}

/** Throws the error of a response that cannot be sent. */
export function response(
  item: InferenceStreamResponse,
  finality: Finality,
  maxMessageSize: number,
): StreamResponseInit {
  return { inferResponse: withFinality(writeInferResponse(item, maxMessageSize), finality) };
}

function responseTo({ id, modelName, modelVersion }: ModelInferRequest): InferResponseInit {
  return { id, modelName, modelVersion };
}

function withFinality(init: InferResponseInit, finality: Finality): InferResponseInit {
  const value = finality === "final";
  return {
    ...init,
    parameters: {
      ...init.parameters,
      triton_final_response: { parameterChoice: { case: "boolParam", value } },
    },
  };
}
