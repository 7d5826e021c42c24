import { normalizeInstanceGroups } from "@naiad/model-config";
import { gpuContext } from "../scheduling/place-instances.ts";
import { findBackend } from "./find-backend.ts";
import type { LoadVersionContext, VersionSource } from "./load-version.ts";
import { keepOffUnfitGpu, placeOrThrow } from "./load-version.ts";
import type { ServingVersion, VersionUpdate } from "./serving-version.ts";

/**
 * Makes the instances that a version needs beside those it has, for a configuration that differs from its own in instance
 * groups and version policy alone. Rejects with an InferenceError, also after an abort, and then nothing has changed.
 */
export async function updateVersion(
  serving: ServingVersion,
  source: VersionSource,
  context: LoadVersionContext,
  signal: AbortSignal,
): Promise<VersionUpdate> {
  const { instanceGroup, versionPolicy } = source.config;
  const backend = findBackend(source.config, context.backends);
  const groups = gpuContext(context.capabilities, context.options, backend.preferredDevice);
  const config = normalizeInstanceGroups({ ...serving.config, instanceGroup, versionPolicy }, groups);
  const planned = placeOrThrow(config, source, context);
  const instances = planned.map((instance) => keepOffUnfitGpu(instance, config, context));
  return serving.prepareUpdate({ config, instances }, signal);
}
