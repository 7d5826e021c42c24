import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { AssetUrls } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import { randomId } from "@naiad/runtime/platform";
import type { HostRuntime } from "../host-runtime.ts";
import { hostSettings, lifeSettings } from "../host-settings.ts";
import type { OpenRuntime } from "../open-runtime.ts";
import { createNodeRuntime } from "./node-runtime.ts";

/** Threads of this process, and a directory for what they keep, which is removed at the end. */
export const openNode: OpenRuntime = async (needs): Promise<HostRuntime> => {
  const { directories, log, options, parts, repositories } = needs;
  const directory = await mkdtemp(join(tmpdir(), "naiad-node-"));
  parts.add(() => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  const settings = hostSettings(options, {
    repositoryUrls: repositories.map((path) => directoryUrl(path)),
    repositoryNames: repositories,
    url: directoryUrl(directory),
  });
  const script = (file: string): string => pathToFileURL(join(directories.dist, "node", file)).href;
  const assets: AssetUrls = {
    host: script("host.js"),
    instanceWasm: script("instance-wasm.js"),
    instanceJavascript: script("instance-javascript.js"),
    // Nothing is placed on a GPU where there is none.
    instanceJspi: "",
    instanceAsyncify: "",
    ort: directoryUrl(directories.ort),
  };
  return createNodeRuntime({
    script: new URL(assets.host),
    directory,
    hostStart: ({ successorOf }) => ({
      wireVersion: WIRE_VERSION,
      hostId: randomId(),
      options: lifeSettings(settings.server, successorOf),
      assets,
      storageName: "naiad",
      ...(successorOf !== undefined && { successorOf }),
      cors: options.cors,
    }),
    onOutput: (line) => {
      log.log("verbose", `host thread: ${line}`);
    },
  });
};

function directoryUrl(path: string): string {
  return pathToFileURL(`${path}/`).href;
}
