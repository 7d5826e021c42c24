import type { ModelConfig } from "@naiad/model-config";
import {
  assertNoIssues,
  completeBackend,
  listVersions,
  normalizeConfig,
  selectVersions,
  validateConfig,
} from "@naiad/model-config";
import type { RepositoryModelLoad } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { MaterialOptions, ModelMaterial } from "../repository/model-material.ts";
import { repositoryMaterial, uploadedMaterial } from "../repository/model-material.ts";
import type { RepositoryModel } from "../repository/model-repository.ts";
import { readConfig } from "../repository/read-config.ts";
import type { FileProgress } from "../repository/fetch-files.ts";
import type { LoadVersionContext } from "./load-version.ts";
import { loadVersion } from "./load-version.ts";
import type { LoadPlan, PolledModel } from "./serving-version.ts";

export interface ModelLoaderContext extends LoadVersionContext, Omit<MaterialOptions, "onProgress"> {
  readonly onDownload: (modelName: string, progress: FileProgress) => void;
}

export interface ModelLoader {
  /**
   * What a load request is about. `findModel` is asked for the model's place in the repositories, unless the request
   * brings all files itself; what it throws is the reason why the poll failed.
   */
  poll(request: RepositoryModelLoad, findModel: () => Promise<RepositoryModel>): Promise<PolledModel>;
}

/** The way from a name to versions that serve: configuration, backend, limits, files, instances. */
export function createModelLoader(context: ModelLoaderContext): ModelLoader {
  return {
    poll: async (request, findModel) => {
      const material = await findMaterial(request, findModel);
      return {
        // Triton loads anew whenever a request overrides something, and the next plain load goes back.
        fingerprint: request.config === undefined ? material.fingerprint : undefined,
        plan: (signal) => planLoad(request, material, signal),
      };
    },
  };

  async function findMaterial(
    { modelName, config, files }: RepositoryModelLoad,
    findModel: () => Promise<RepositoryModel>,
  ): Promise<ModelMaterial> {
    if (files === undefined || Object.keys(files).length === 0) {
      return repositoryMaterial(await findModel(), {
        ...context,
        onProgress: (progress) => {
          context.onDownload(modelName, progress);
        },
      });
    }
    if (config === undefined) {
      const message = "Load parameter 'config' must be specified for model file override";
      throw new InferenceError("INVALID_ARG", message);
    }
    return uploadedMaterial(modelName, files, context.digest);
  }

  async function planLoad(
    request: RepositoryModelLoad,
    material: ModelMaterial,
    signal: AbortSignal,
  ): Promise<LoadPlan> {
    const { model } = material;
    const autoComplete = !context.options.disableAutoCompleteConfig;
    const written = await readConfig(material, {
      ...(request.config === undefined ? {} : { override: request.config }),
      isOptional: autoComplete,
      signal,
    });
    const directory = {
      name: model.name,
      directories: model.directories,
      filePaths: model.files.map(({ path }) => path),
    };
    const config = normalizeConfig(completeBackend(written, directory));
    assertNoIssues(validateConfig(config, { stage: "poll", directoryName: model.name, autoComplete }));

    const { versions, ignored } = listVersions(directory);
    for (const { reason } of ignored) context.logger.log("warning", `model '${model.name}': ${reason}`);
    const selection = selectVersions(config.versionPolicy, versions);
    for (const version of selection.absent) {
      context.logger.log(
        "error",
        `version ${String(version)} is specified for model '${model.name}', but the version directory is not present`,
      );
    }
    for (const feature of inactiveFeatures(config)) {
      context.logger.log(
        "warning",
        `model '${model.name}' asks for ${feature}, which this server does not have`,
      );
    }
    return {
      versions: selection.versions,
      load: (version, loadSignal) => loadVersion({ written, config, material, version }, context, loadSignal),
    };
  }
}

/** Parts of a valid configuration that change nothing here but would in Triton. */
function inactiveFeatures(config: ModelConfig): readonly string[] {
  const { instanceGroup: groups, optimization } = config;
  const asked: Readonly<Record<string, boolean>> = {
    response_cache: config.responseCache?.enable === true,
    model_warmup: config.modelWarmup.length > 0,
    model_repository_agents: config.modelRepositoryAgents !== undefined,
    "optimization.execution_accelerators": optimization?.executionAccelerators !== undefined,
    "instance_group.host_policy": groups.some(({ hostPolicy }) => hostPolicy !== ""),
    "instance_group.secondary_devices": groups.some(({ secondaryDevices }) => secondaryDevices.length > 0),
  };
  return Object.keys(asked).filter((feature) => asked[feature]);
}
