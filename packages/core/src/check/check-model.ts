import type { ModelConfig, ModelDirectory } from "@naiad/model-config";
import {
  completeBackend,
  findConfigFaults,
  listVersions,
  normalizeConfig,
  parseConfigText,
  readConfigJson,
  selectVersions,
  validateConfig,
} from "@naiad/model-config";
import type { Digest, ManifestModel, ModelFiles } from "../ports.ts";
import { findBackend } from "../lifecycle/find-backend.ts";
import { issueHint } from "../lifecycle/issue-hint.ts";
import { missingVersionHint } from "../lifecycle/missing-version-hint.ts";
import { runRepositoryAgents } from "../repository/agents/repository-agents.ts";
import { checkLabels } from "./check-files.ts";
import { checkVersion, supposedGroups } from "./check-version.ts";
import type { FindingSheet, RepositoryFinding, SheetSubject, VersionFindings } from "./finding-sheet.ts";
import { createFindingSheet } from "./finding-sheet.ts";
import type { ModelInspector } from "./model-inspector.ts";

export interface CheckContext {
  readonly inspectors: readonly ModelInspector[];
  readonly digest: Digest;
  /** Whether the backends complete configurations. */
  readonly autoComplete: boolean;
  readonly signal: AbortSignal;
}

/** One configuration of a model, looked at by itself. */
export interface CheckedConfig {
  readonly sheet: FindingSheet;
  /** As it would be served; absent where too little of it is known. */
  readonly config: ModelConfig | undefined;
  /** Of the versions that would be served. */
  readonly versions: readonly number[];
}

export interface CheckedModel {
  readonly modelName: string;
  /** The configuration that a server takes by itself first, then those of `configs/`. */
  readonly configs: readonly CheckedConfig[];
  /** About the directory. */
  readonly findings: readonly RepositoryFinding[];
}

const CONFIG_FILES = ["config.pbtxt", "config.json"] as const;

/** Everything that can be said of a model by itself, without running it and whatever the machine. */
export async function checkModel(
  model: ManifestModel,
  files: ModelFiles,
  context: CheckContext,
): Promise<CheckedModel> {
  const present = (path: string): boolean => model.files.some((file) => file.path === path);
  const [main, unused] = CONFIG_FILES.filter(present);
  const directory = createFindingSheet({ modelName: model.name, file: undefined, text: "" });
  for (const { reason } of listVersions(directoryOf(model)).ignored) directory.warning("", reason);
  if (unused !== undefined) directory.warning("", `'${unused}' is not read where there is a config.pbtxt`);
  const named = model.files.map(({ path }) => path).filter((path) => /^configs\/[^/]+\.pbtxt$/.test(path));
  const configs: CheckedConfig[] = [];
  for (const file of [main, ...named]) configs.push(await checkConfig({ model, files, file }, context));
  return { modelName: model.name, configs, findings: directory.findings };
}

interface ConfigSource {
  readonly model: ManifestModel;
  readonly files: ModelFiles;
  /** Absent: the model goes without. */
  readonly file: string | undefined;
}

async function checkConfig(source: ConfigSource, context: CheckContext): Promise<CheckedConfig> {
  const { model, files, file } = source;
  const text = file === undefined ? "" : new TextDecoder().decode(await files.read(file));
  const subject = { modelName: model.name, file, text };
  const sheet = createFindingSheet(subject);
  const nothing = { sheet, config: undefined, versions: [] };
  if (file === undefined && !context.autoComplete) {
    sheet.issue({
      code: "NOT_FOUND",
      message: `failed to open text file for read ${model.name}/config.pbtxt: No such file or directory`,
      path: "",
      hint: "write one, or let configurations be completed",
    });
    return nothing;
  }
  const written = readWritten(file, text, sheet);
  if (written === undefined) return nothing;
  await checkAgents(written, source, context, sheet);
  return checkWritten({ ...source, written, subject }, context, sheet);
}

/** `undefined` where the text cannot be read, which the sheet then says. */
function readWritten(file: string | undefined, text: string, sheet: FindingSheet): ModelConfig | undefined {
  if (file?.endsWith(".json") === true) {
    const result = readConfigJson(text);
    if (result.kind === "config") return result.config;
    sheet.issue({ code: "INVALID_ARG", message: `failed to read JSON: ${result.reason}`, path: "" });
    return undefined;
  }
  const faults = findConfigFaults(text);
  for (const fault of faults) sheet.fault(fault);
  return faults.length > 0 ? undefined : parseConfigText(text, { fileName: file ?? "" });
}

async function checkAgents(
  written: ModelConfig,
  { model, files }: ConfigSource,
  { digest, signal }: CheckContext,
  sheet: FindingSheet,
): Promise<void> {
  const { modelRepositoryAgents } = written;
  if (modelRepositoryAgents === undefined) return;
  const material = {
    model,
    fingerprint: "",
    missingBytes: () => Promise.resolve(0),
    fetch: () => Promise.resolve(files),
  };
  for (const [index, agent] of modelRepositoryAgents.agents.entries()) {
    const alone = { ...written, modelRepositoryAgents: { ...modelRepositoryAgents, agents: [agent] } };
    try {
      await runRepositoryAgents(alone, { material, digest, signal });
    } catch (thrown) {
      sheet.thrown(thrown, `model_repository_agents.agents[${index}]`);
    }
  }
}

interface WrittenConfig extends ConfigSource {
  readonly written: ModelConfig;
  readonly subject: SheetSubject;
}

async function checkWritten(
  { model, files, written, subject }: WrittenConfig,
  context: CheckContext,
  sheet: FindingSheet,
): Promise<CheckedConfig> {
  const directory = directoryOf(model);
  const { versions } = listVersions(directory);
  const completed = completedFrom(written, directory, sheet, () =>
    versions.length > 0 ? undefined : missingVersionHint(model, { versions: [], absent: [] }),
  );
  const config = normalizeConfig(completed ?? written);
  const issues = validateConfig(config, {
    stage: "poll",
    directoryName: model.name,
    autoComplete: context.autoComplete,
  });
  for (const issue of issues) {
    // That there is none has been said.
    if (completed === undefined && ["platform", "backend", "name"].includes(issue.path)) continue;
    const hint = issueHint(issue, config, model.name);
    sheet.issue({ ...issue, ...(hint !== undefined && { hint }) });
  }
  if (completed === undefined) return { sheet, config: undefined, versions: [] };

  const isEnsemble = config.schedulingChoice.case === "ensembleScheduling";
  const selection = selectVersions(config.versionPolicy, versions);
  const hint = missingVersionHint(model, { versions, absent: selection.absent, isEnsemble });
  for (const version of selection.absent) {
    const message = `version ${String(version)} is specified for model '${model.name}', but the version directory is not present`;
    sheet.issue({ code: "INVALID_ARG", message, path: "version_policy", hint });
  }
  if (selection.versions.length === 0 && selection.absent.length === 0) {
    const message = `at least one version must be available under the version policy of model '${model.name}'`;
    sheet.issue({ code: "INVALID_ARG", message, path: "version_policy", hint });
  }
  if (isEnsemble) {
    for (const issue of validateConfig(config, { stage: "load", instanceGroups: supposedGroups() })) {
      sheet.issue(issue);
    }
    await checkLabels(config, files, sheet);
    return { sheet, config, versions: selection.versions };
  }
  const inspector = inspectorOf(config, context, sheet);
  if (inspector === undefined) return { sheet, config: undefined, versions: [] };
  let served: ModelConfig | undefined;
  const isValid = !sheet.hasErrors;
  const found: VersionFindings[] = [];
  for (const version of selection.versions) {
    const own = createFindingSheet(subject);
    served = await checkVersion(
      { model, files, written, config, version, inspector, isValid, sheet: own },
      context,
    );
    found.push({ version, findings: own.findings });
  }
  sheet.merge(found);
  return { sheet, config: served, versions: selection.versions };
}

function completedFrom(
  written: ModelConfig,
  directory: ModelDirectory,
  sheet: FindingSheet,
  hint: () => string | undefined,
): ModelConfig | undefined {
  try {
    return completeBackend(written, directory);
  } catch (thrown) {
    sheet.thrown(thrown, "backend", hint());
    return undefined;
  }
}

function inspectorOf(
  config: ModelConfig,
  { inspectors }: CheckContext,
  sheet: FindingSheet,
): ModelInspector | undefined {
  // Said already.
  if (config.backend === "") return undefined;
  try {
    return findBackend(config, inspectors);
  } catch (thrown) {
    sheet.thrown(thrown, config.platform === "" ? "backend" : "platform");
    return undefined;
  }
}

function directoryOf(model: ManifestModel): ModelDirectory {
  return {
    name: model.name,
    directories: model.directories,
    filePaths: model.files.map(({ path }) => path),
  };
}
