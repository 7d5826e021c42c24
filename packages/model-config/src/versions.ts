import { InferenceError } from "@naiad/protocol";
import type { ModelConfig, ModelVersionPolicy } from "./gen/model_config_pb.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { subDirectories } from "./model-directory.ts";

export interface VersionDirectories {
  /** Ascending. */
  readonly versions: readonly number[];
  /** Directories that look like nothing Triton knows, with the reason for the log. */
  readonly ignored: readonly { readonly name: string; readonly reason: string }[];
}

/** Directories beside the versions that hold something else. */
const OTHER_DIRECTORIES: ReadonlySet<string> = new Set(["warmup", "initial_state", "configs"]);

const MAX_INT64 = 2n ** 63n - 1n;

/** The version directories of a model: names of digits without leading zeros. `0` is one, although Triton's manual says > 0. */
export function listVersions(directory: ModelDirectory): VersionDirectories {
  const versions: number[] = [];
  const ignored: { name: string; reason: string }[] = [];
  for (const name of subDirectories(directory)) {
    if (OTHER_DIRECTORIES.has(name)) continue;
    const reason = whyNoVersion(name);
    if (reason === undefined) versions.push(Number(name));
    else ignored.push({ name, reason: `ignore version directory '${name}' which ${reason}` });
  }
  return { versions: versions.sort((a, b) => a - b), ignored };
}

function whyNoVersion(name: string): string | undefined {
  if (name.length > 1 && name.startsWith("0")) return "contains leading zeros in its directory name";
  if (!/^[0-9]+$/.test(name) || BigInt(name) > MAX_INT64) return "fails to convert to integral number";
  if (Number.isSafeInteger(Number(name))) return undefined;
  return `is beyond ${Number.MAX_SAFE_INTEGER}, the largest version here`;
}

export interface VersionSelection {
  /** Ascending. */
  readonly versions: readonly number[];
  /** Versions that the policy names and that are not there; any that fit into 64 bits. */
  readonly absent: readonly bigint[];
}

/** Which of the available versions the policy serves. Without a policy: the latest one. */
export function selectVersions(
  policy: ModelVersionPolicy | undefined,
  available: readonly number[],
): VersionSelection {
  const ascending = [...available].sort((a, b) => a - b);
  switch (policy?.policyChoice.case) {
    case "specific": {
      const there = new Set(ascending.map(BigInt));
      const wanted = [...new Set(policy.policyChoice.value.versions)];
      return {
        versions: ascending.filter((version) => wanted.includes(BigInt(version))),
        absent: wanted.filter((version) => !there.has(version)).sort((a, b) => (a < b ? -1 : 1)),
      };
    }
    case "latest":
      return { versions: ascending.slice(-Math.max(policy.policyChoice.value.numVersions, 1)), absent: [] };
    case "all":
      return { versions: ascending, absent: [] };
    case undefined:
      return { versions: policy === undefined ? ascending.slice(-1) : ascending, absent: [] };
  }
}

/** `selectVersions` of a model's directory; INVALID_ARG with Triton's text when the policy leaves nothing. */
export function versionsToLoad(
  config: Pick<ModelConfig, "name" | "versionPolicy">,
  directory: ModelDirectory,
): VersionSelection {
  const selection = selectVersions(config.versionPolicy, listVersions(directory).versions);
  if (selection.versions.length > 0) return selection;
  throw new InferenceError(
    "INVALID_ARG",
    `at least one version must be available under the version policy of model '${config.name}'`,
  );
}
