import { nearestName } from "@naiad/protocol";
import { UsageError } from "../../command-io.ts";

export interface BackendOptions {
  /** `undefined`: the server's default. */
  readonly defaultMaxBatchSize: number | undefined;
  readonly warnings: readonly string[];
}

const BATCH_SIZE = "default-max-batch-size";

/**
 * Reads `--backend-config`. As in Triton a backend's own setting wins over one for all of them. Settings of Triton's other backends
 * are taken, so that its command lines work, and said to do nothing. Throws a `UsageError`.
 */
export function readBackendOptions(settings: readonly string[]): BackendOptions {
  const warnings: string[] = [];
  let forAll: number | undefined;
  let forOnnx: number | undefined;
  for (const setting of settings) {
    const [, backend = "", name, value = ""] = /^(?:([^,=]*),)?([^,=]+)=(.*)$/.exec(setting) ?? [];
    if (name === undefined) {
      throw new UsageError(`--backend-config must be [BACKEND,]NAME=VALUE, but it is '${setting}'`);
    }
    if (name !== BATCH_SIZE || !["", "onnxruntime"].includes(backend)) {
      if (name !== BATCH_SIZE && nearestName(name, [BATCH_SIZE]) !== undefined) {
        throw new UsageError(`--backend-config: unknown setting '${name}'; did you mean '${BATCH_SIZE}'?`);
      }
      warnings.push(
        `--backend-config: '${setting}' does nothing here; there is [onnxruntime,]${BATCH_SIZE}=NUMBER`,
      );
      continue;
    }
    if (!/^\d{1,9}$/.test(value)) {
      throw new UsageError(`--backend-config: ${BATCH_SIZE} must be a whole number, but it is '${value}'`);
    }
    if (backend === "") forAll = Number(value);
    else forOnnx = Number(value);
  }
  return { defaultMaxBatchSize: forOnnx ?? forAll, warnings };
}
