import type { ConfigIssue, ModelConfig } from "@naiad/model-config";
import { platformHint } from "./find-backend.ts";

/** What to do about an issue of a configuration that was read from the directory of this name. */
export function issueHint(
  { path, hint }: ConfigIssue,
  config: ModelConfig,
  directoryName: string,
): string | undefined {
  if (path === "platform") return platformHint(config);
  if (path !== "name" || config.name === directoryName) return hint;
  return `write name: "${directoryName}" into its configuration or leave it out, or rename the directory`;
}
