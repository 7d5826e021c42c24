import { setTimeout as sleep } from "node:timers/promises";
import type { TunnelAsker } from "@naiad/link/tunnel";
import { createTunnelAsker } from "@naiad/link/tunnel";
import type { HostRuntime } from "../host-runtime.ts";
import type { PageStart } from "../page/page-start.ts";
import type { BrowserSite } from "../site/browser-site.ts";
import { socketLine } from "../site/socket-line.ts";
import type { BrowserProfile } from "./launch-browser.ts";

export interface BrowserRuntimeOptions {
  readonly site: Pick<BrowserSite, "admit" | "url">;
  readonly profile: Pick<BrowserProfile, "open">;
  /** What a page is to start. `life` tells the first from those that come after one that was lost. */
  readonly pageStart: (life: PageLife) => PageStart;
}

export interface PageLife {
  readonly tunnelUrl: string;
  readonly successorOf: string | undefined;
}

/** A closed connection and the exit of the process come in any order; the exit says more. */
const REASON_MS = 500;

/** A browser for each host, all with one profile. */
export function createBrowserRuntime({ pageStart, profile, site }: BrowserRuntimeOptions): HostRuntime {
  const name = "the browser";
  return {
    name,
    launch({ onStarted, successorOf }) {
      let tell: (reason: string) => void = () => undefined;
      const lost = new Promise<string>((resolve) => {
        tell = resolve;
      });
      const connected = new Promise<TunnelAsker>((resolve) => {
        const { tunnelUrl } = site.admit({
          start: () => pageStart({ tunnelUrl, successorOf }),
          onReport: (report) => {
            if (report.kind === "started") onStarted(report.hostId);
            else tell(report.reason);
          },
          onTunnel: (socket) => {
            const line = socketLine(socket, (code) =>
              Promise.race([lost, sleep(REASON_MS, `the connection was closed (${String(code)})`)]),
            );
            resolve(createTunnelAsker({ line, defer: (run) => setImmediate(run), peer: name }));
          },
        });
      });
      const opened = profile.open(site.url);
      opened.then(
        (browser) => void browser.exited.then(tell),
        (error: unknown) => {
          tell(error instanceof Error ? error.message : String(error));
        },
      );
      return {
        connected,
        lost,
        async end(how) {
          const browser = await opened.catch(() => undefined);
          if (how === "asked") {
            await browser?.close();
            return;
          }
          browser?.kill();
          await browser?.exited;
        },
      };
    },
  };
}
