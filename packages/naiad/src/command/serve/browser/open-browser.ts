import { hostSettings, lifeSettings } from "../host-settings.ts";
import type { HostRuntime } from "../host-runtime.ts";
import type { OpenRuntime } from "../open-runtime.ts";
import type { ServeOptions } from "../options/serve-options.ts";
import type { PageStart } from "../page/page-start.ts";
import { openBrowserSite } from "../site/browser-site.ts";
import { browserArguments } from "./browser-arguments.ts";
import { createBrowserRuntime } from "./browser-runtime.ts";
import { requireBrowser } from "./find-browser.ts";
import { hasGpu } from "./has-gpu.ts";
import { createBrowserProfile } from "./launch-browser.ts";

/** A headless browser with its profile, and the private site that it shows. */
export const openBrowser: OpenRuntime = async (needs): Promise<HostRuntime> => {
  const { directories, environment, log, options, parts, repositories, source } = needs;
  const path = requireBrowser(
    options.browser.path,
    environment,
    "; --runtime node serves without a browser, on WebAssembly alone",
  );
  requireSandbox(options);
  const profile = await createBrowserProfile({
    path,
    arguments: browserArguments(options.browser, {
      platform: process.platform,
      hasGpu: hasGpu(process.platform),
    }),
    onOutput: (line) => {
      log.log("verbose", `browser: ${line}`);
    },
  });
  parts.add(() => profile.remove());
  const site = await openBrowserSite({
    repositories,
    distDirectory: directories.dist,
    ortDirectory: directories.ort,
    source,
    onWarning: (message) => {
      log.log("warning", message);
    },
  });
  parts.add(() => site.close());
  const settings = hostSettings(options, { ...site, repositoryNames: repositories });
  return createBrowserRuntime({
    site,
    profile,
    pageStart: ({ successorOf, tunnelUrl }): PageStart => ({
      settings: { ...settings, server: lifeSettings(settings.server, successorOf) },
      tunnelUrl,
      filesUrl: `${site.url}v2-files/`,
      ...(successorOf !== undefined && { successorOf }),
      cors: options.cors,
    }),
  });
};

function requireSandbox({ browser }: ServeOptions): void {
  if (browser.sandbox === "off" || process.platform !== "linux" || process.getuid?.() !== 0) return;
  throw new Error(
    "the browser's sandbox does not start as root: run naiad as another user, or, where every model of the repository " +
      "is trusted, pass --no-sandbox",
  );
}
