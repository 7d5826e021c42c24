import type { ModelMetadata } from "@naiad/protocol";
import { clientTensor } from "../lifecycle/client-tensor.ts";
import type { ServingVersion } from "../lifecycle/serving-version.ts";

export function modelMetadata(serving: ServingVersion, versions: readonly ServingVersion[]): ModelMetadata {
  const { config, signature } = serving;
  return {
    name: serving.modelName,
    versions: versions.map(({ version }) => String(version)),
    platform: config.platform === "" ? config.backend : config.platform,
    inputs: signature.inputs.map((tensor) => clientTensor(signature, tensor)),
    outputs: signature.outputs.map((tensor) => clientTensor(signature, tensor)),
  };
}
