import type { ModelSignature } from "@naiad/model-config";
import type { InferenceRequest, InferenceResponse, OperationContext, Tensor } from "@naiad/protocol";
import { classifyOutput, InferenceError, invariant } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import type { Clock } from "../ports.ts";
import { reshapeTensor } from "../request/reshape.ts";
import { validateRequest } from "../request/inference-request.ts";
import type { RequestOutcome } from "../scheduling/scheduler.ts";

/**
 * Validates the request, hands it to the version's scheduler and waits for its outcome, which is CANCELLED as soon as
 * `signal` fires.
 */
export async function runInference(
  serving: ServingVersion,
  request: InferenceRequest,
  context: OperationContext,
  clock: Clock,
): Promise<InferenceResponse> {
  const { modelName, version, scheduler, signature } = serving;
  if (signature.decoupled) throw new InferenceError("UNSUPPORTED", DECOUPLED);
  const startNs = clock.nowNs();
  const valid = validateRequest(request, { name: modelName, signature });
  const outcome = await new Promise<RequestOutcome>((resolve) => {
    scheduler.enqueue({ request: valid, signal: context.signal, startNs, respond: resolve });
    context.onAccepted?.();
  });
  if (outcome.kind === "error") throw outcome.error;
  return {
    modelName,
    modelVersion: String(version),
    id: request.id,
    parameters: outcome.parameters,
    outputs: outcome.outputs.map((output) => classified(clientShaped(output, signature), serving, request)),
  };
}

/** Triton's text. Every road to this operation gives exactly one answer for a request, as its HTTP end point does. */
const DECOUPLED = "HTTP end point doesn't support models with decoupled transaction policy";

/** The tensor as the client sees it: the model's own shape follows `reshape`, the client's `dims`. */
function clientShaped(output: Tensor, { outputs, maxBatchSize }: ModelSignature): Tensor {
  const declared = outputs.find(({ name }) => name === output.name);
  if (declared?.reshape === undefined) return output;
  return reshapeTensor(output, { from: declared.reshape, to: declared.dims, batches: maxBatchSize > 0 });
}

/** The output itself, or its best classes where the request asks for them. */
function classified(
  output: Tensor,
  { signature, labels }: ServingVersion,
  { outputs }: InferenceRequest,
): Tensor {
  const classCount = outputs.find(({ name }) => name === output.name)?.classCount;
  if (classCount === undefined) return output;
  invariant(output.kind === "bytes", "an output that leaves the server lies in memory");
  const outputLabels = labels.get(output.name);
  return classifyOutput(output, {
    classCount,
    batching: signature.maxBatchSize > 0 ? "batched" : "single",
    ...(outputLabels === undefined ? {} : { labels: outputLabels }),
  });
}
