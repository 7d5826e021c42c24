import { modelPath } from "@naiad/backend-javascript";
import { inspectOnnx } from "@naiad/backend-onnxruntime";
import type { Inspection, ModelInspector, ModelSpec } from "@naiad/core";

/** What the backends of Naiad can say of a model without running it. */
export const INSPECTORS: readonly ModelInspector[] = [
  {
    name: "onnxruntime",
    inspect: async (model, options) => ({ ...(await inspectOnnx(model, options)), isComplete: true }),
  },
  { name: "javascript", inspect: (model) => inspectJavaScript(model) },
];

async function inspectJavaScript({ config, files, modelName, version }: ModelSpec): Promise<Inspection> {
  const path = modelPath({
    modelName,
    version,
    config,
    paths: files.entries.map((file) => file.path),
  });
  const completesItself = new TextDecoder().decode(await files.read(path)).includes("autoCompleteConfig");
  return { config, isComplete: !completesItself, issues: [], warnings: [] };
}
