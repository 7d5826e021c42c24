import type { ManifestModel, ModelFiles, RepositoryManifest } from "../ports.ts";
import { checkEnsembles } from "./check-ensembles.ts";
import type { CheckContext } from "./check-model.ts";
import { checkModel } from "./check-model.ts";
import type { RepositoryFinding } from "./finding-sheet.ts";

export interface CheckRepository {
  /** Hashes are not looked at. */
  readonly manifest: RepositoryManifest;
  readonly filesOf: (model: ManifestModel) => ModelFiles;
}

/**
 * Every problem of every configuration of a repository that can be seen without loading a model, also where Triton stops at
 * the first. In the order of the models; for each the directory, then its configurations.
 */
export async function checkRepository(
  { manifest, filesOf }: CheckRepository,
  context: CheckContext,
): Promise<readonly RepositoryFinding[]> {
  const models = [];
  for (const model of manifest.models) models.push(await checkModel(model, filesOf(model), context));
  checkEnsembles(models);
  return models.flatMap(({ configs, findings }) => [
    ...findings,
    ...configs.flatMap(({ sheet }) => sheet.findings),
  ]);
}
