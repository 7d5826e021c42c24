import { differingOptions } from "./differing-options.ts";
import { tellOfFailedStart } from "./failed-start.ts";
import { joinServer, otherOptions } from "./join-server.ts";
import type { NaiadServer } from "./naiad-server.ts";
import type { StartServerOptions } from "./start-options.ts";
import type { StartSettings } from "./start-settings.ts";
import { resolveSettings } from "./start-settings.ts";

/** One server per base path on a page, however many parts of the page ask for it. */
const servers = new Map<
  string,
  { readonly settings: StartSettings; readonly server: Promise<NaiadServer> }
>();

/** By base path, how this page stops telling of its last start, which failed. */
const failures = new Map<string, () => void>();

/**
 * Starts Triton in this page, or joins the one that another page of the same origin and base path runs already.
 *
 * Resolves when every road to the server has really answered: the port, and plain `fetch` where a service worker controls
 * the page. Called again with the same options it gives the same server; with other options it rejects and names
 * them. Options that make no sense reject with a `TypeError` that names the first of them.
 */
export async function startServer(options: StartServerOptions): Promise<NaiadServer> {
  const settings = resolveSettings(options, document.baseURI);
  const running = servers.get(settings.base);
  if (running !== undefined) {
    const differences = differingOptions(running.settings, settings);
    if (differences.length > 0) throw otherOptions(settings.base, differences);
    return running.server;
  }
  const { base } = settings;
  const forget = (): void => {
    servers.delete(base);
  };
  failures.get(base)?.();
  failures.delete(base);
  const server = joinServer(settings, {
    ...options,
    onStopped: forget,
    onFailed: (gateway, { message }) => {
      // Another start may have begun since.
      if (servers.has(base)) return;
      failures.set(base, tellOfFailedStart(gateway, base, message));
    },
  });
  servers.set(base, { settings, server });
  server.catch(forget);
  return server;
}
