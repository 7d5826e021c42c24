import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";

/** A text from a model's configuration, and what to call it in errors. */
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

/** INVALID_ARG for what is none of the choices. */
export function choiceOf<Choice extends string>(
  config: Pick<ModelConfig, "name">,
  { text, label }: Setting,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new InferenceError(
    "INVALID_ARG",
    `${label} of model '${config.name}' must be one of ${choices.join(", ")}, got '${text}'`,
  );
}
