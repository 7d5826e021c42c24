import type { ServerOptions } from "@naiad/protocol";
import type { StartSettings } from "../../sdk/start-settings.ts";
import { resolveSettings } from "../../sdk/start-settings.ts";
import { UsageError } from "../command-io.ts";
import { FLAG_NAMES } from "./options/read-flags.ts";
import type { ServeOptions } from "./options/serve-options.ts";

export interface HostPlace {
  readonly repositoryUrls: readonly string[];
  /** What texts call the repositories in place of their addresses. */
  readonly repositoryNames: readonly string[];
  /** What relative addresses are meant from. */
  readonly url: string;
}

/** It is the command whose time to wait counts, and who ends the host after it. */
const AFTER_THE_COMMAND_SECS = 10;

/** What the first host starts with. Throws a `UsageError` for an option that makes no sense. */
export function hostSettings(options: ServeOptions, place: HostPlace): StartSettings {
  const { repositoryNames, repositoryUrls, url } = place;
  try {
    const settings = resolveSettings(
      {
        ...options.server,
        modelRepository: repositoryUrls,
        base: new URL(url).pathname,
        mode: "direct",
        serviceWorker: false,
      },
      url,
    );
    const modelRepositories = settings.server.modelRepositories.map((location, index) => {
      const shownAs = repositoryNames[index];
      return shownAs === undefined ? location : { ...location, shownAs };
    });
    const exitTimeoutSecs = options.exitTimeoutSecs + AFTER_THE_COMMAND_SECS;
    return {
      ...settings,
      server: { ...settings.server, modelRepositories, exitTimeoutSecs, traceConfig: options.trace },
    };
  } catch (error) {
    throw new UsageError(inFlagWords(error instanceof Error ? error.message : String(error)), {
      cause: error,
    });
  }
}

/** Names of `startServer`'s options become those of the command line. */
function inFlagWords(message: string): string {
  return message
    .replace(/^startServer's option '(\w+)'/, (_, name: string) => `--${flagName(name)}`)
    .replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, (name) =>
      FLAG_NAMES.includes(flagName(name)) ? `--${flagName(name)}` : name,
    );
}

function flagName(optionName: string): string {
  return optionName.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** What the host after `successorOf` starts with: a model that does not load any more is no reason to end others. */
export function lifeSettings(server: ServerOptions, successorOf: string | undefined): ServerOptions {
  return successorOf === undefined ? server : { ...server, exitOnError: false };
}
