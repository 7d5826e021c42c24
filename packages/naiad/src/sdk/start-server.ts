import { joinServer, otherOptions } from "./join-server.ts";
import type { NaiadServer } from "./naiad-server.ts";
import type { StartServerOptions, StartSettings } from "./start-options.ts";
import { differingOptions, resolveSettings } from "./start-options.ts";

/** One server per base path on a page, however many parts of the page ask for it. */
const servers = new Map<
  string,
  { readonly settings: StartSettings; readonly server: Promise<NaiadServer> }
>();

/**
 * Starts Triton in this page, or joins the one that another page of the same origin and base path runs already.
 *
 * Resolves when every road to the server has really answered: the port, and plain `fetch` where a service worker controls
 * the page. Called again with the same options it gives the same server; with other options it rejects and names them.
 */
export function startServer(options: StartServerOptions): Promise<NaiadServer> {
  const settings = resolveSettings(options, document.baseURI);
  const running = servers.get(settings.base);
  if (running !== undefined) {
    const differences = differingOptions(running.settings, settings);
    return differences.length === 0
      ? running.server
      : Promise.reject(otherOptions(settings.base, differences));
  }
  const forget = (): void => {
    servers.delete(settings.base);
  };
  const server = joinServer(settings, { ...options, onStopped: forget });
  servers.set(settings.base, { settings, server });
  server.catch(forget);
  return server;
}
