import { modelPath } from "@naiad/backend-javascript";
import type { Backend, ModelSpec, PrepareOptions } from "@naiad/core";
import { decodeConfig } from "@naiad/model-config";
import type { ModelConfig } from "@naiad/model-config";
import { createRemoteInstance, createWorkerBackend } from "./worker-backend.ts";
import type { WorkerBackendOptions } from "./worker-backend.ts";

export type JavaScriptBackendOptions = Pick<
  WorkerBackendOptions,
  "workers" | "limits" | "encodeConfig" | "newId" | "warn" | "serveFiles"
>;

/** Models written in JavaScript, each instance in a worker of its own. What they keep of a sequence is lost with it. */
export function createJavaScriptBackend(common: JavaScriptBackendOptions): Backend {
  const options: WorkerBackendOptions = {
    ...common,
    name: "javascript",
    engine: "javascript",
    prepare: (model, prepareOptions) => prepare(model, prepareOptions, options),
  };
  return { ...createWorkerBackend(options), preferredDevice: "cpu", keepsState: true };
}

async function prepare(
  model: ModelSpec,
  { autoComplete, signal }: PrepareOptions,
  options: WorkerBackendOptions,
): Promise<ModelConfig> {
  const { modelName, version, config, files } = model;
  modelPath({ modelName, version, config, paths: files.entries.map(({ path }) => path) });
  if (!autoComplete || !(await mentionsAutoComplete(model))) return config;
  const placement = {
    instanceName: modelName,
    device: { kind: "cpu", threads: 1 },
    workerKey: "",
  } as const;
  const { instance, dispose } = await createRemoteInstance(
    { model, placement },
    options,
    signal,
    "auto-complete",
  );
  await dispose();
  return instance.config === undefined ? config : decodeConfig(instance.config);
}

/** A worker takes longer than a look into the model's modules, most of which complete nothing. */
async function mentionsAutoComplete({ files, version }: ModelSpec): Promise<boolean> {
  const modules = files.entries.filter(({ path }) => path.startsWith(`${version}/`) && /\.m?js$/.test(path));
  for (const { path } of modules) {
    const text = new TextDecoder().decode(await files.read(path));
    if (text.includes("autoCompleteConfig")) return true;
  }
  return false;
}
