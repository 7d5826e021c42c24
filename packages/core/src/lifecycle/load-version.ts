import type { ModelConfig } from "@naiad/model-config";
import {
  assertNoIssues,
  joinedPath,
  normalizeConfig,
  normalizeInstanceGroups,
  validateConfig,
} from "@naiad/model-config";
import type { Capabilities, ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { requestRatesOf } from "../admission/request-rates.ts";
import type { Backend, Clock, Logger, ModelFiles } from "../ports.ts";
import type { FileProgress } from "../repository/fetch-files.ts";
import { metricControlWarnings } from "../metrics/model-latencies.ts";
import type { ModelMaterial } from "../repository/model-material.ts";
import type { RateLimiter } from "../scheduling/rate-limiter.ts";
import type { StoreUse } from "../repository/store-use.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
import { gpuContext, placeInstances } from "../scheduling/place-instances.ts";
import type { ResponseCache } from "../scheduling/response-cache/response-cache.ts";
import { checkLimits, gpuProblem } from "./check-limits.ts";
import { findBackend } from "./find-backend.ts";
import { foundTensors } from "./found-tensors.ts";
import { loadEnsemble } from "./load-ensemble.ts";
import type { ServingVersion } from "./serving-version.ts";
import { startServing } from "./start-serving.ts";
import { versionFiles } from "./version-files.ts";

export interface LoadVersionContext {
  readonly backends: readonly Backend[];
  readonly capabilities: Capabilities;
  readonly options: ServerOptions;
  /** Absent where the options ask for none. */
  readonly responseCache: ResponseCache | undefined;
  /** Absent where instances execute whenever they are free. */
  readonly rateLimiter: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Threads that instances of all models hold now. */
  readonly busyThreads: () => number;
  /** A name that no other load has. */
  readonly nextOwner: (modelName: string, version: number) => string;
  readonly storeUse: StoreUse;
  /** Of the models that an ensemble is made of. `undefined` asks for the latest version. Throws Triton's lookup errors. */
  readonly findServing: (modelName: string, version: number | undefined) => ServingVersion;
  /** Told once when instances are about to be created and once when they are there. */
  readonly onCreate: (progress: CreateProgress) => void;
}

export interface CreateProgress extends Omit<FileProgress, "phase"> {
  readonly modelName: string;
}

export interface VersionSource {
  /** As the user wrote it. */
  readonly written: ModelConfig;
  /** Completed from the directory, normalised, valid as far as it goes. */
  readonly config: ModelConfig;
  readonly material: ModelMaterial;
  readonly version: number;
}

/**
 * Makes one version serve. What can be refused without a download is refused before one; then files, the backend's view
 * of the configuration, instances. Rejects with an InferenceError, also after an abort, and leaves no instance behind.
 */
export async function loadVersion(
  source: VersionSource,
  context: LoadVersionContext,
  signal: AbortSignal,
): Promise<ServingVersion> {
  const { material, version, config } = source;
  const release = await context.storeUse.use(versionFiles(material.model, version, config), signal);
  const inUse = { ...context, onFreed: release };
  try {
    return config.schedulingChoice.case === "ensembleScheduling"
      ? await loadEnsemble(source, inUse, signal)
      : await loadInUse(source, inUse, signal);
  } catch (thrown) {
    release();
    throw thrown;
  }
}

export interface InUseContext extends LoadVersionContext {
  /** To be called when what was loaded is gone. */
  readonly onFreed: () => void;
}

async function loadInUse(
  source: VersionSource,
  context: InUseContext,
  signal: AbortSignal,
): Promise<ServingVersion> {
  const { version } = source;
  const { capabilities, clock, logger, options, responseCache, rateLimiter } = context;
  const loadStartNs = clock.nowNs();
  const modelName = source.material.model.name;
  const backend = findBackend(source.config, context.backends);
  // For the errors alone: requests are held against the limits where they come in.
  requestRatesOf(source.config, options.requestRateLimit);
  const groups = gpuContext(capabilities, options, backend.preferredDevice);
  const placed = normalizeInstanceGroups(source.config, groups);
  const planned = placeOrThrow(placed, source, context);
  const files = await fetchWithinLimits(planned, source, context, signal);

  const prepared = await backend.prepare(
    { modelName, version, config: placed, files },
    { autoComplete: !options.disableAutoCompleteConfig, signal },
  );
  const config = normalizeInstanceGroups(normalizeConfig(prepared), groups);
  // The groups were placed above, where a GPU that is missing may be made up for.
  const issues = validateConfig(config, { stage: "load", instanceGroups: groups });
  assertNoIssues(issues.filter(({ path }) => !path.startsWith("instance_group")));
  const instances = planned.map((instance) => keepOffUnfitGpu(instance, config, context));
  for (const warning of metricControlWarnings(config)) logger.log("warning", warning);
  const found = foundTensors(source.written, config);
  if (found !== undefined) logger.log("info", found);

  const totalBytes = files.entries.reduce((sum, { size }) => sum + size, 0);
  const path = joinedPath(String(version), config.defaultModelFilename) ?? String(version);
  const tell = (loadedBytes: number): void => {
    const ofModel = { modelLoadedBytes: loadedBytes, modelTotalBytes: totalBytes };
    context.onCreate({ modelName, path, loadedBytes, totalBytes, ...ofModel });
  };
  tell(0);
  const model = { modelName, version, config, files };
  const serving = await startServing({
    backend,
    model,
    instances,
    responseCache,
    rateLimiter,
    metrics: options.metricsConfig,
    loadStartNs,
    clock,
    logger,
    onFreed: context.onFreed,
    signal,
  });
  tell(totalBytes);
  return serving;
}

/** INVALID_ARG where this machine cannot have such instances. */
export function placeOrThrow(
  config: ModelConfig,
  { written, version }: VersionSource,
  { capabilities, options, logger, busyThreads, nextOwner, rateLimiter }: LoadVersionContext,
): readonly PlannedInstance[] {
  const result = placeInstances({
    config,
    written,
    capabilities,
    options,
    owner: nextOwner(config.name, version),
    busyThreads: busyThreads(),
  });
  if (result.kind === "refused") throw new InferenceError("INVALID_ARG", result.error);
  rateLimiter?.check(result.instances.map(({ placement }) => placement));
  for (const warning of result.warnings) logger.log("warning", warning);
  return result.instances;
}

async function fetchWithinLimits(
  planned: readonly PlannedInstance[],
  { material, version, config }: VersionSource,
  { capabilities, logger, storeUse }: LoadVersionContext,
  signal: AbortSignal,
): Promise<ModelFiles> {
  const { name } = material.model;
  const files = versionFiles(material.model, version, config);
  const limits = checkLimits({
    files,
    missingBytes: await material.missingBytes(files),
    devices: new Set(planned.map(({ placement }) => placement.device.kind)),
    capabilities,
  });
  for (const warning of limits.warnings) logger.log("warning", `model '${name}': ${warning}`);
  const [problem] = limits.problems;
  if (problem !== undefined) {
    throw new InferenceError("UNSUPPORTED", `unable to load model '${name}': ${problem}`);
  }
  const paths = files.map(({ path }) => path);
  return storeUse.whileWriting(signal, () => material.fetch(paths, signal));
}

/** Known only when the backend has completed inputs and outputs. */
export function keepOffUnfitGpu(
  instance: PlannedInstance,
  config: ModelConfig,
  { capabilities, logger }: LoadVersionContext,
): PlannedInstance {
  const { device, instanceName } = instance.placement;
  if (device.kind === "cpu") return instance;
  const adapter = capabilities.gpus.find(({ index }) => index === device.adapter);
  const problem = adapter === undefined ? undefined : gpuProblem(config, adapter);
  if (problem === undefined) return instance;
  if (instance.cpuAlternative === undefined) {
    throw new InferenceError("UNSUPPORTED", `instance '${instanceName}' cannot run on the GPU: ${problem}`);
  }
  const note = `runs on the CPU: ${problem}`;
  logger.log("warning", `instance ${instanceName} of model ${config.name} ${note}`);
  return { placement: { ...instance.cpuAlternative, note } };
}
