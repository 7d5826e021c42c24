import type { ModelConfig } from "@naiad/model-config";
import { modelSignature } from "@naiad/model-config";
import { nearestName } from "@naiad/protocol";
import { readConfiguredFile } from "../lifecycle/read-configured-file.ts";
import { warmUpSamples } from "../lifecycle/warm-up-samples.ts";
import type { ModelFiles } from "../ports.ts";
import { readInitialStates } from "../scheduling/sequence/read-initial-states.ts";
import type { FindingSheet } from "./finding-sheet.ts";

/** The label files of a configuration are there. */
export async function checkLabels(
  config: ModelConfig,
  files: ModelFiles,
  sheet: FindingSheet,
): Promise<void> {
  for (const [index, { labelFilename: path }] of config.output.entries()) {
    if (path === "") continue;
    try {
      await readConfiguredFile({ modelName: config.name, path, files });
    } catch (thrown) {
      sheet.thrown(thrown, `output[${index}].label_filename`, nearFile(path, files));
    }
  }
}

/** Initial states and warm-up requests of a valid configuration can be made. */
export async function checkMadeTensors(
  config: ModelConfig,
  files: ModelFiles,
  sheet: FindingSheet,
): Promise<void> {
  try {
    const states = await readInitialStates(config, files);
    const signature = modelSignature(config);
    for (const [index, warmUp] of config.modelWarmup.entries()) {
      try {
        await warmUpSamples({ config: { ...config, modelWarmup: [warmUp] }, signature, files, states });
      } catch (thrown) {
        sheet.thrown(thrown, `model_warmup[${index}]`);
      }
    }
  } catch (thrown) {
    sheet.thrown(thrown, "sequence_batching.state");
  }
}

/** The file of the model that was probably meant. */
export function nearFile(path: string, files: ModelFiles): string | undefined {
  const near = nearestName(
    path,
    files.entries.map((file) => file.path),
  );
  return near === undefined ? undefined : `did you mean '${near}'?`;
}
