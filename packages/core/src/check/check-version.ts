import type { InstanceGroupContext, ModelConfig } from "@naiad/model-config";
import { normalizeConfig, normalizeInstanceGroups, validateConfig } from "@naiad/model-config";
import type { Capabilities } from "@naiad/protocol";
import { requestRatesOf } from "../admission/request-rates.ts";
import { checkLimits } from "../lifecycle/check-limits.ts";
import { versionFiles } from "../lifecycle/version-files.ts";
import { metricControlWarnings } from "../metrics/model-latencies.ts";
import type { ManifestModel, ModelFiles } from "../ports.ts";
import { gpuContext, placeInstances } from "../scheduling/place-instances.ts";
import { checkLabels, checkMadeTensors, nearFile } from "./check-files.ts";
import type { CheckContext } from "./check-model.ts";
import type { FindingSheet } from "./finding-sheet.ts";
import type { ModelInspector } from "./model-inspector.ts";

/** The machine that nobody has chosen yet: one GPU without limits, and as much memory as WebAssembly can have. */
const SUPPOSED_MACHINE: Capabilities = {
  gpus: [
    {
      index: 0,
      vendor: "",
      architecture: "",
      description: "",
      isFallback: false,
      features: [],
      maxBufferSize: Infinity,
      maxStorageBufferBindingSize: Infinity,
      maxStorageBuffersPerShaderStage: Infinity,
    },
  ],
  crossOriginIsolated: true,
  hardwareConcurrency: 8,
  wasmMemoryLimitBytes: 4 * 1024 ** 3,
};
const PLACEMENT = {
  gpuFallback: "cpu",
  allowSoftwareGpu: false,
  foldGpus: false,
  threads: 0,
  verify: "auto",
} as const;

/** Of that machine. */
export function supposedGroups(): InstanceGroupContext {
  return gpuContext(SUPPOSED_MACHINE, PLACEMENT);
}

export interface VersionCheck {
  readonly model: ManifestModel;
  readonly files: ModelFiles;
  readonly written: ModelConfig;
  /** Completed from the directory and normalised. */
  readonly config: ModelConfig;
  readonly version: number;
  readonly inspector: ModelInspector;
  /** What goes before has found nothing against the configuration. */
  readonly isValid: boolean;
  readonly sheet: FindingSheet;
}

/** One version as far as it gets without an instance. Gives the configuration that it would be served with, where known. */
export async function checkVersion(
  { model, files, written, config, version, inspector, isValid, sheet }: VersionCheck,
  { autoComplete, signal }: CheckContext,
): Promise<ModelConfig | undefined> {
  const groups = supposedGroups();
  const placed = normalizeInstanceGroups(config, groups);
  checkPlacement(placed, written, sheet);
  checkSizes(versionFiles(model, version, config), sheet);
  await checkLabels(config, files, sheet);
  const inspection = await inspector
    .inspect({ modelName: model.name, version, config: placed, files }, { autoComplete, signal })
    .catch((thrown: unknown) => {
      const fileName = `${version}/${config.defaultModelFilename}`;
      const isThere = files.entries.some(({ path }) => path === fileName || path.startsWith(`${fileName}/`));
      sheet.thrown(thrown, "default_model_filename", isThere ? undefined : nearFile(fileName, files));
      return undefined;
    });
  if (inspection === undefined) return undefined;
  for (const issue of inspection.issues) sheet.issue(issue);
  for (const warning of inspection.warnings) sheet.warning("parameters", warning);

  const served = normalizeInstanceGroups(normalizeConfig(inspection.config), groups);
  for (const issue of validateConfig(served, { stage: "load", instanceGroups: groups })) {
    // The groups were placed above; what a model completes itself is not known here.
    if (issue.path.startsWith("instance_group")) continue;
    if (!inspection.isComplete && /^(input|output)/.test(issue.path)) continue;
    sheet.issue(issue);
  }
  for (const warning of metricControlWarnings(served)) sheet.warning("model_metrics", warning);
  if (isValid && !sheet.hasErrors && inspection.isComplete) await checkMadeTensors(served, files, sheet);
  return inspection.isComplete ? served : undefined;
}

function checkPlacement(config: ModelConfig, written: ModelConfig, sheet: FindingSheet): void {
  try {
    const placement = placeInstances({
      config,
      written,
      capabilities: SUPPOSED_MACHINE,
      options: PLACEMENT,
      owner: config.name,
    });
    if (placement.kind === "refused") {
      sheet.warning("instance_group", `on a machine with one GPU: ${placement.error}`);
    } else {
      for (const warning of placement.warnings) sheet.warning("instance_group", warning);
    }
  } catch (thrown) {
    sheet.thrown(thrown, "parameters");
  }
  try {
    requestRatesOf(config, { kind: "none" });
  } catch (thrown) {
    sheet.thrown(thrown, "parameters");
  }
}

function checkSizes(files: ReturnType<typeof versionFiles>, sheet: FindingSheet): void {
  const { problems } = checkLimits({
    files,
    missingBytes: 0,
    devices: new Set(["cpu"]),
    capabilities: SUPPOSED_MACHINE,
  });
  for (const problem of problems) sheet.warning("", problem);
}
