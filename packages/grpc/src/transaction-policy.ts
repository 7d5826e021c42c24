import {
  InferenceError,
  isJsonObject,
  type ModelReference,
  type OperationContext,
  type OperationHandlers,
} from "@naiad/protocol";

/** Whether the model answers any number of times. Rejects with Triton's lookup errors. */
export async function isDecoupled(
  reference: ModelReference,
  handlers: OperationHandlers,
  context: OperationContext,
): Promise<boolean> {
  const { model_transaction_policy: policy } = await handlers.modelConfig(reference, context);
  return isJsonObject(policy) && policy["decoupled"] === true;
}

/**
 * Rejects where no request at all to this model can be served by a call that has one response: Triton looks at this
 * before anything else. Called only when something went wrong, so that the rest does not pay for it.
 */
export async function requireOneResponse(
  reference: ModelReference,
  handlers: OperationHandlers,
  context: OperationContext,
): Promise<void> {
  if (!(await isDecoupled(reference, handlers, context))) return;
  throw new InferenceError(
    "UNSUPPORTED",
    "ModelInfer RPC doesn't support models with decoupled transaction policy",
  );
}
