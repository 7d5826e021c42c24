import type { PackageDirectories } from "../../site/package-directories.ts";
import type { HostRuntime } from "./host-runtime.ts";
import type { HostSource } from "./listen/host-source.ts";
import type { ServeOptions } from "./options/serve-options.ts";
import type { PartStack } from "./part-stack.ts";
import type { ServeLog } from "./serve-log.ts";

export interface RuntimeNeeds {
  readonly options: ServeOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Directories, as they really are. */
  readonly repositories: readonly string[];
  /** Where the files lie that it runs. */
  readonly directories: PackageDirectories;
  readonly log: ServeLog;
  readonly source: HostSource;
  /** Takes what is to be closed when the server has ended. */
  readonly parts: PartStack;
}

/** Makes ready what hosts run in. Rejects where it cannot be had, and with a `UsageError` for options that make no sense. */
export type OpenRuntime = (needs: RuntimeNeeds) => Promise<HostRuntime>;
