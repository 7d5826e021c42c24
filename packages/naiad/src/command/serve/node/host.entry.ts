import { workerData, parentPort } from "node:worker_threads";
import { whenDead, holdAlive } from "@naiad/link";
import { aliveLock } from "@naiad/runtime/contracts";
import { composeHost, createHost } from "@naiad/runtime/in-process";
import { nodePlatform } from "./node-platform.ts";
import { portLine } from "./port-line.ts";
import type { HostThreadData } from "./thread-data.ts";
import { SERVING } from "./thread-data.ts";

// The command starts this thread with it.
const { directory, start, tunnel } = workerData as HostThreadData;
const platform = nodePlatform(directory);
const host = createHost({
  clock: platform.clock,
  compose: (given) => composeHost(given, platform),
  holdAlive: (hostId) => holdAlive(platform.locks, aliveLock(hostId)),
  whenDead: (peerId, signal) => whenDead(platform.locks, aliveLock(peerId), signal),
  openLine: () => Promise.resolve(portLine(tunnel, () => Promise.resolve("the command has closed it"))),
});
// Left alone it would end the thread. In a browser too it is only told.
process.on("unhandledRejection", (reason) => {
  host.log("error", `nobody caught ${String(reason)}`).catch(() => undefined);
});
await host.start(start);
await host.connectTunnel("");
parentPort?.postMessage(SERVING);
