import type { TensorSignature } from "@naiad/model-config";
import type { ModelMetadata, TensorMetadata } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";

/** Shapes as a client sees them: without `reshape`, with the batch dimension where there is one. */
export function modelMetadata(serving: ServingVersion, versions: readonly ServingVersion[]): ModelMetadata {
  const { config, signature } = serving;
  const describe = ({ name, datatype, dims }: TensorSignature): TensorMetadata => ({
    name,
    datatype,
    shape: signature.maxBatchSize >= 1 ? [-1, ...dims] : dims,
  });
  return {
    name: serving.modelName,
    versions: versions.map(({ version }) => String(version)),
    platform: config.platform === "" ? config.backend : config.platform,
    inputs: signature.inputs.map(describe),
    outputs: signature.outputs.map(describe),
  };
}
