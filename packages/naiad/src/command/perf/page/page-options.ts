import { UsageError } from "../../command-io.ts";
import type { BrowserOptions } from "../../serve/options/serve-options.ts";
import { oneOf } from "../option-values.ts";
import type { Values } from "../option-values.ts";

/** A browser with the server in a page, from which it is measured. */
export interface PageOptions {
  readonly kind: "page";
  /** Over the SDK's port, or over `fetch` and the service worker. */
  readonly transport: "port" | "fetch";
  readonly repositories: readonly string[];
  readonly browser: Pick<BrowserOptions, "gpu" | "sandbox"> & { readonly path: string | undefined };
}

/** Options that speak of a server at an address. */
const ELSEWHERE = [
  "url",
  "header",
  "streaming",
  "grpc-compression-algorithm",
  "collect-metrics",
  "trace-level",
] as const;

/** Throws a `UsageError`. */
export function pageOptions(transport: "port" | "fetch", values: Values): PageOptions {
  const foreign = ELSEWHERE.find((name) => values[name] !== undefined);
  if (foreign !== undefined) {
    throw new UsageError(
      `--${foreign} is of a server at an address, which --transport ${transport} has none`,
    );
  }
  const repositories = values["model-repository"] ?? [];
  if (repositories.length === 0) {
    throw new UsageError(
      `--transport ${transport} starts a browser with the server in a page, which needs --model-repository DIR`,
    );
  }
  return {
    kind: "page",
    transport,
    repositories,
    browser: {
      path: values.browser,
      gpu: oneOf("gpu", values.gpu, ["auto", "off", "software"]) ?? "auto",
      sandbox: values["no-sandbox"] === true ? "off" : "on",
    },
  };
}
