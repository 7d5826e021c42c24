import type { ModelConfig } from "@naiad/model-config";
import type { ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

type Parameters = Pick<ModelConfig, "name" | "parameters">;

const VERIFY: readonly ServerOptions["verify"][] = ["auto", "always", "off"];

/** What a model's `verify` says, else the server's option. INVALID_ARG for any other word. */
export function verifyParameter(
  config: Parameters,
  otherwise: ServerOptions["verify"],
): ServerOptions["verify"] {
  const text = textOf(config, "verify");
  if (text === undefined) return otherwise;
  const word = VERIFY.find((candidate) => candidate === text);
  if (word !== undefined) return word;
  throw new InferenceError(
    "INVALID_ARG",
    `parameter 'verify' of model '${config.name}' must be one of ${VERIFY.join(", ")}, got '${text}'`,
  );
}

/**
 * Threads that a model wants for each of its CPU instances by Triton's parameter of the ONNX Runtime backend; 0 for no
 * wish. INVALID_ARG with Triton's text for what is no number.
 */
export function threadCountParameter(config: Parameters): number {
  const text = textOf(config, "intra_op_thread_count")?.trim();
  if (text === undefined) return 0;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InferenceError("INVALID_ARG", `failed to convert '${text}' to integral number`);
}

export function isIsolated(config: Parameters): boolean {
  return textOf(config, "isolate_worker") === "true";
}

function textOf({ parameters }: Parameters, key: string): string | undefined {
  return Object.hasOwn(parameters, key) ? parameters[key]?.stringValue : undefined;
}
