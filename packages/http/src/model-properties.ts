import { InferenceError, isJsonObject, type JsonObject, type ModelReference } from "@naiad/protocol";
import type { RouteCall } from "./route.ts";

function modelConfig({ options, request }: RouteCall, reference: ModelReference): Promise<JsonObject> {
  return options.handlers.modelConfig(reference, { signal: request.signal });
}

/** Whether the first dimension of the model's tensors is the batch. */
export async function modelBatching(
  call: RouteCall,
  reference: ModelReference,
): Promise<"batched" | "single"> {
  const config = await modelConfig(call, reference);
  return Number(config["max_batch_size"] ?? 0) > 0 ? "batched" : "single";
}

/**
 * Rejects when no request at all to this model can be served here: Triton looks at this before it looks at the body.
 * Called only when the body turned out to be wrong, so that right ones do not pay for it.
 */
export async function checkServable(call: RouteCall): Promise<void> {
  const { model_transaction_policy: policy } = await modelConfig(call, call.reference);
  if (isJsonObject(policy) && policy["decoupled"] === true) {
    throw new InferenceError(
      "UNSUPPORTED",
      "HTTP end point doesn't support models with decoupled transaction policy",
    );
  }
}
