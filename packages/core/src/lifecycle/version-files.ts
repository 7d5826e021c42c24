import type { ModelConfig } from "@naiad/model-config";
import { joinedPath } from "@naiad/model-config";
import type { ManifestModel, ModelFile } from "../ports.ts";

/**
 * The files that one version of a model can need: its own directory, everything that belongs to no version, such as labels,
 * and whatever else the configuration names. The configuration itself is read by the server.
 */
export function versionFiles(
  model: ManifestModel,
  version: number,
  config: ModelConfig,
): readonly ModelFile[] {
  const named = configuredPaths(config);
  return model.files.filter(({ path }) => {
    if (named.has(path)) return true;
    const slash = path.indexOf("/");
    if (slash < 0) return path !== "config.pbtxt";
    const directory = path.slice(0, slash);
    return directory === String(version) || (!/^[0-9]+$/.test(directory) && directory !== "configs");
  });
}

/** Paths of labels, warm-up data and initial states, which may lie anywhere in the model's directory. */
function configuredPaths({ output, modelWarmup, schedulingChoice }: ModelConfig): ReadonlySet<string> {
  const states = schedulingChoice.case === "sequenceBatching" ? schedulingChoice.value.state : [];
  const paths = [
    ...output.map(({ labelFilename }) => joinedPath(labelFilename)),
    ...modelWarmup
      .flatMap(({ inputs }) => Object.values(inputs))
      .flatMap(({ inputDataType: source }) =>
        source.case === "inputDataFile" ? [joinedPath("warmup", source.value)] : [],
      ),
    ...states
      .flatMap(({ initialState }) => initialState)
      .flatMap(({ stateData: source }) =>
        source.case === "dataFile" ? [joinedPath("initial_state", source.value)] : [],
      ),
  ];
  return new Set(paths.filter((path) => path !== undefined));
}
