import type { ManifestModel } from "../ports.ts";

export interface FoundVersions {
  /** Version directories, ascending. */
  readonly versions: readonly number[];
  /** Versions that the policy names and that are not there. */
  readonly absent: readonly bigint[];
  /** An ensemble has no file in its version directories, which are easily lost on their way for that. */
  readonly isEnsemble?: boolean;
}

/** What to do about a model of which no version can be served. Triton leaves one to guess. */
export function missingVersionHint(
  model: ManifestModel,
  { isEnsemble = false, versions, absent }: FoundVersions,
): string {
  if (versions.length > 0) {
    return `the version policy asks for ${absent.join(", ")}, and the directory has ${versions.join(", ")}`;
  }
  if (isEnsemble) {
    return `the directory of model '${model.name}' has no version directory, and an ensemble needs one too: make an empty '1/'`;
  }
  const misplaced = model.files.find(({ path }) => /^model\.[^/]+(\/|$)/.test(path))?.path.split("/")[0];
  const file = misplaced === undefined ? "the model file" : `'${misplaced}'`;
  return `the directory of model '${model.name}' has no version directory: put ${file} into '1/'`;
}
