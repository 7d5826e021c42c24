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

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["on", true],
  ["1", true],
  ["false", false],
  ["off", false],
  ["0", false],
]);

/** Whether the model's `isolate_worker` asks for GPU workers of its own; a word that is no boolean does not. */
export function isIsolated(config: Parameters): boolean {
  return isolation(config) ?? false;
}

/** What to say of an `isolate_worker` that is no boolean. */
export function isolationWarning(config: Parameters): string | undefined {
  if (isolation(config) !== undefined) return undefined;
  const text = textOf(config, "isolate_worker") ?? "";
  return `model '${config.name}': parameter 'isolate_worker' is '${text}', neither true nor false: false is used`;
}

function isolation(config: Parameters): boolean | undefined {
  return BOOLEANS.get((textOf(config, "isolate_worker") ?? "false").toLowerCase());
}

function textOf({ parameters }: Parameters, key: string): string | undefined {
  return Object.hasOwn(parameters, key) ? parameters[key]?.stringValue : undefined;
}
