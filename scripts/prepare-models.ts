import { fixtureModels } from "@naiad/testing/fixture-models";
import { describeSummary, writeModels } from "./sample-models/write-models.ts";
import { sampleModels } from "./sample-models/sample-models.ts";

/**
 * Brings the model repository of the playground and the tests up to date: sample models and fixture models.
 *
 *     npx tsx scripts/prepare-models.ts [folder, default public/models]
 */
const target = process.argv[2] ?? "public/models";
const models = [...(await sampleModels()), ...fixtureModels()];
console.log(describeSummary(await writeModels(models, target), target));
