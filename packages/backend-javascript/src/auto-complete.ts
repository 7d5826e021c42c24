import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { createAutoCompleteConfig } from "./auto-complete-config.ts";
import { describeFailure } from "./describe-failure.ts";
import type { LoadedCode } from "./loaded-code.ts";

/** What the model's own `autoCompleteConfig` makes of its configuration; the same where it has none. */
export async function autoComplete(
  config: ModelConfig,
  modelName: string,
  { modelClass, pathOf }: LoadedCode,
): Promise<ModelConfig> {
  if (modelClass.autoCompleteConfig === undefined) return config;
  const { helper, completed } = createAutoCompleteConfig(config, modelName);
  let returned: unknown;
  try {
    returned = await modelClass.autoCompleteConfig(helper);
  } catch (thrown) {
    throw new InferenceError("INTERNAL", describeFailure(thrown, pathOf), { cause: thrown });
  }
  if (returned === helper) return completed();
  throw new InferenceError(
    "INTERNAL",
    `autoCompleteConfig function in model '${modelName}' must return a valid ModelConfig object.`,
  );
}
