import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";

/** A text from a model's configuration, and what to call it in warnings. */
export interface Setting {
  readonly text: string;
  readonly label: string;
}

export function parameter({ parameters }: Pick<ModelConfig, "parameters">, key: string): string | undefined {
  return Object.hasOwn(parameters, key) ? parameters[key]?.stringValue : undefined;
}

/** INVALID_ARG with Triton's text for what is neither true nor false. */
export function booleanParameter(config: ModelConfig, key: string): boolean {
  const text = parameter(config, key) ?? "false";
  switch (text.toLowerCase()) {
    case "true":
    case "on":
    case "1":
      return true;
    case "false":
    case "off":
    case "0":
      return false;
    default:
      throw new InferenceError("INVALID_ARG", `failed to convert '${text}' to boolean`);
  }
}

/** The text as the choice that it is; `undefined` for what is none, of which `configWarnings` tells. */
export function choiceOf<Choice extends string>(
  setting: Setting | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  return choices.find((candidate) => candidate === setting?.text);
}
