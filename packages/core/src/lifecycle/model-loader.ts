import type { ConfigIssue, ModelConfig, ModelDirectory } from "@naiad/model-config";
import {
  assertNoIssues,
  completeBackend,
  listVersions,
  normalizeConfig,
  printConfigText,
  selectVersions,
  validateConfig,
} from "@naiad/model-config";
import type { RepositoryModelLoad, ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { ensembleRequirements, planEnsemble } from "../ensemble/ensemble-plan.ts";
import type { ManifestModel } from "../ports.ts";
import { runRepositoryAgents } from "../repository/agents/repository-agents.ts";
import type { MaterialOptions, ModelMaterial } from "../repository/model-material.ts";
import { repositoryMaterial } from "../repository/model-material.ts";
import type { RepositoryModel } from "../repository/model-repository.ts";
import { readConfig } from "../repository/read-config.ts";
import type { FileProgress } from "../repository/fetch-files.ts";
import { storedMaterial, uploadedMaterial } from "../repository/uploaded-material.ts";
import type { LoadVersionContext } from "./load-version.ts";
import { loadVersion } from "./load-version.ts";
import { issueHint } from "./issue-hint.ts";
import { missingVersionHint } from "./missing-version-hint.ts";
import { updateVersion } from "./update-version.ts";
import { versionFiles } from "./version-files.ts";
import type { LoadOrigin, LoadPlan, PolledModel, ServingVersion } from "./serving-version.ts";

export interface ModelLoaderContext extends LoadVersionContext, Omit<MaterialOptions, "onProgress"> {
  readonly onDownload: (modelName: string, progress: FileProgress) => void;
}

export interface ModelLoader {
  /**
   * What a load request is about. `findModel` is asked for the model's place in the repositories, unless the request
   * brings all files itself; what it throws is the reason why the poll failed.
   */
  poll(request: RepositoryModelLoad, findModel: FindModel): Promise<PolledModel>;
  /** The same as it was loaded before, here or by another server. */
  pollAgain(origin: LoadOrigin, findModel: FindModel): Promise<PolledModel>;
}

export type FindModel = () => Promise<RepositoryModel>;

/** The way from a name to versions that serve: configuration, backend, limits, files, instances. */
export function createModelLoader(context: ModelLoaderContext): ModelLoader {
  return {
    poll: async ({ modelName, config, files }, findModel) => {
      if (files === undefined || Object.keys(files).length === 0) {
        const origin = { modelName, ...(config === undefined ? {} : { config }) };
        return polled(origin, await fromRepository(modelName, findModel));
      }
      if (config === undefined) {
        const message = "Load parameter 'config' must be specified for model file override";
        throw new InferenceError("INVALID_ARG", message);
      }
      const material = await uploadedMaterial(modelName, files, context);
      return polled({ modelName, config, files: material.model.files }, material);
    },
    pollAgain: async (origin, findModel) => {
      const { modelName, files } = origin;
      if (files === undefined) return polled(origin, await fromRepository(modelName, findModel));
      return polled(origin, storedMaterial(modelName, files, context.store));
    },
  };

  function polled(origin: LoadOrigin, material: ModelMaterial): PolledModel {
    return {
      // Triton loads anew whenever a request overrides something, and the next plain load goes back.
      fingerprint: origin.config === undefined ? material.fingerprint : undefined,
      plan: (signal) => context.storeUse.whileWriting(signal, () => planLoad(origin, material, signal)),
    };
  }

  async function fromRepository(modelName: string, findModel: FindModel): Promise<ModelMaterial> {
    return repositoryMaterial(await findModel(), {
      ...context,
      onProgress: (progress) => {
        context.onDownload(modelName, progress);
      },
    });
  }

  async function planLoad(
    origin: LoadOrigin,
    material: ModelMaterial,
    signal: AbortSignal,
  ): Promise<LoadPlan> {
    const { model } = material;
    const autoComplete = !context.options.disableAutoCompleteConfig;
    const written = await readConfig(material, {
      ...(origin.config === undefined ? {} : { override: origin.config }),
      configName: context.options.modelConfigName,
      isOptional: autoComplete,
      signal,
    });
    await runRepositoryAgents(written, { material, digest: context.digest, signal });
    const directory = {
      name: model.name,
      directories: model.directories,
      filePaths: model.files.map(({ path }) => path),
    };
    const { versions, ignored } = listVersions(directory);
    for (const { reason } of ignored) context.logger.log("warning", `model '${model.name}': ${reason}`);
    const config = normalizeConfig(withBackend(written, directory, model));
    const issues = validateConfig(config, { stage: "poll", directoryName: model.name, autoComplete });
    assertNoIssues(issues.map((issue) => withHint(issue, config, model.name)));

    const selection = selectVersions(config.versionPolicy, versions);
    for (const version of selection.absent) {
      context.logger.log(
        "error",
        `version ${String(version)} is specified for model '${model.name}', but the version directory is not present`,
      );
    }
    for (const feature of inactiveFeatures(config, context.options)) {
      context.logger.log(
        "warning",
        `model '${model.name}' asks for ${feature}, which this server does not have`,
      );
    }
    const requirements = ensembleRequirements(config);
    const wanted = printConfigText({ ...config, instanceGroup: [], versionPolicy: undefined });
    return {
      origin,
      versions: selection.versions,
      missingVersionHint: missingVersionHint(model, {
        versions,
        absent: selection.absent,
        isEnsemble: requirements !== undefined,
      }),
      ...(requirements !== undefined && {
        ensemble: {
          requirements,
          validate: () => {
            planEnsemble(config, (modelName) => context.findServing(modelName, undefined).config);
          },
        },
      }),
      reuseKey: (version) => {
        if (requirements !== undefined) return undefined;
        const files = versionFiles(model, version, config).map(({ path, sha256 }) => `${path} ${sha256}`);
        return [wanted, ...files.sort()].join("\n");
      },
      update: (serving, updateSignal) => {
        const { version } = serving;
        return updateVersion(serving, { written, config, material, version }, context, updateSignal);
      },
      load: (version, loadSignal) =>
        retried(
          () => loadVersion({ written, config, material, version }, context, loadSignal),
          `'${model.name}' version ${version}`,
          loadSignal,
        ),
    };
  }

  async function retried(
    load: () => Promise<ServingVersion>,
    name: string,
    signal: AbortSignal,
  ): Promise<ServingVersion> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await load();
      } catch (thrown) {
        if (signal.aborted || attempts > context.options.modelLoadRetryCount) throw thrown;
        const reason = InferenceError.from(thrown).message;
        context.logger.log("warning", `failed to load ${name}, trying again: ${reason}`);
      }
    }
  }
}

/** The model's file, which says what backend it needs, is looked for in a version directory alone. */
function withBackend(written: ModelConfig, directory: ModelDirectory, model: ManifestModel): ModelConfig {
  try {
    return completeBackend(written, directory);
  } catch (thrown) {
    if (listVersions(directory).versions.length > 0) throw thrown;
    const { code, message } = InferenceError.from(thrown);
    const hint = missingVersionHint(model, { versions: [], absent: [] });
    throw new InferenceError(code, `${message} (${hint})`, { cause: thrown });
  }
}

function withHint(issue: ConfigIssue, config: ModelConfig, directoryName: string): ConfigIssue {
  const hint = issueHint(issue, config, directoryName);
  return hint === undefined ? issue : { ...issue, message: `${issue.message} (${hint})` };
}

/** Parts of a valid configuration that change nothing here but would in Triton. */
function inactiveFeatures(config: ModelConfig, { cacheConfig }: ServerOptions): readonly string[] {
  const { instanceGroup: groups } = config;
  const asked: Readonly<Record<string, boolean>> = {
    response_cache: config.responseCache?.enable === true && cacheConfig.kind === "none",
    "instance_group.host_policy": groups.some(({ hostPolicy }) => hostPolicy !== ""),
    "instance_group.secondary_devices": groups.some(({ secondaryDevices }) => secondaryDevices.length > 0),
  };
  return Object.keys(asked).filter((feature) => asked[feature]);
}
