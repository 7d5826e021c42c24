import { InferenceError } from "@naiad/protocol";

const MAX_INT64 = 2n ** 63n - 1n;

/**
 * The version that a request names, `undefined` for the highest ready one (no text, or -1). INVALID_ARG for what Triton's
 * conversion to an integer refuses. A number beyond 2^53 is nobody's version and stays so.
 */
export function parseModelVersion(text: string): number | undefined {
  if (text === "") return undefined;
  if (!/^[+-]?[0-9]+$/.test(text)) refuse(text, " (details: stol)");
  const version = BigInt(text.replace("+", ""));
  if (version > MAX_INT64 || version < -MAX_INT64) refuse(text, " (details: stol)");
  if (version === -1n) return undefined;
  if (version < 0n) refuse(text, "");
  return Number(version);
}

/** The error for a version of which there cannot be a model. Unlike a `number` the text names it exactly. */
export function unknownVersion(modelName: string, text: string): InferenceError {
  const version = String(BigInt(text.replace("+", "")));
  return new InferenceError(
    "NOT_FOUND",
    `Request for unknown model: '${modelName}' version ${version} is not found`,
  );
}

function refuse(text: string, details: string): never {
  throw new InferenceError(
    "INVALID_ARG",
    `failed to get model version from specified version string '${text}'${details}, version should be an integral value > 0`,
  );
}
