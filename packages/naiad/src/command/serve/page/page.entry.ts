import { browserSpawner, platformLocks } from "@naiad/runtime/platform";
import { startHost } from "../../../sdk/host-owner.ts";
import type { PageReport, PageStart } from "./page-start.ts";

/** The page of `naiad serve`: starts the host and stays out of its way. Its address is the folder of all that it needs. */
async function run(): Promise<string> {
  // The command that serves this page writes it.
  const start = (await (await fetch("start.json")).json()) as PageStart;
  const { cors, filesUrl, settings, successorOf, tunnelUrl } = start;
  const host = await startHost({
    settings,
    filesUrl,
    successorOf,
    locks: platformLocks(navigator),
    spawner: browserSpawner,
    // The command hears of it through the tunnel, after the lines that say why.
    afterFailedStart: "stay",
    cors,
  });
  await report({ kind: "started", hostId: host.hostId });
  await host.connectTunnel(tunnelUrl);
  return new Promise((resolve) => {
    const tell = (): void => {
      resolve(messageOf(host.lost.reason));
    };
    if (host.lost.aborted) tell();
    else host.lost.addEventListener("abort", tell, { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function report(content: PageReport): Promise<void> {
  await fetch("report", { method: "POST", body: JSON.stringify(content) });
}

run()
  .catch(messageOf)
  .then((reason) => report({ kind: "lost", reason }))
  // The command is gone, and ends the browser with it.
  .catch(() => undefined);
