import type { InferenceRequest, InferenceResponse, Parameters, Tensor } from "@naiad/protocol";
import { classifyOutput, invariant } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import { clientShaped } from "../request/reshape.ts";

/** What a model gave for a request, as the client is to see it. */
export function clientResponse(
  { outputs, parameters }: { readonly outputs: readonly Tensor[]; readonly parameters: Parameters },
  serving: ServingVersion,
  request: InferenceRequest,
): InferenceResponse {
  const { modelName, version, signature } = serving;
  return {
    modelName,
    modelVersion: String(version),
    id: request.id,
    parameters,
    outputs: outputs.map((output) => classified(clientShaped(output, signature), serving, request)),
  };
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
