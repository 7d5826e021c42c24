import { ensembleModels, fixtureModels } from "@naiad/testing/fixture-models";
import { describeSummary, writeModels } from "./sample-models/write-models.ts";
import { languageModels } from "./sample-models/language-models.ts";
import { pipelineModels } from "./sample-models/pipeline-models.ts";
import { sampleModels } from "./sample-models/sample-models.ts";

/**
 * Brings the model repository of the playground and the tests up to date: sample models, the pipelines made of them, and fixture models.
 *
 *     npx tsx scripts/prepare-models.ts [folder, default public/models]
 */
const target = process.argv[2] ?? "public/models";
const models = [
  ...(await sampleModels()),
  ...(await pipelineModels()),
  ...(await languageModels()),
  ...fixtureModels(),
  ...ensembleModels(),
];
console.log(describeSummary(await writeModels(models, target), target));
