import { exposeControl, holdAlive, whenDead } from "@naiad/link";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { browserPlatform } from "./browser-platform.ts";
import { composeHost } from "./compose-host.ts";
import { createHost } from "./host.ts";
import { openSocketLine } from "./tunnel/socket-line.ts";

declare const self: DedicatedWorkerGlobalScope;

const platform = browserPlatform(self);
const host = createHost({
  clock: platform.clock,
  compose: (start) => composeHost(start, platform),
  holdAlive: (hostId) => holdAlive(platform.locks, aliveLock(hostId)),
  whenDead: (peerId, signal) => whenDead(platform.locks, aliveLock(peerId), signal),
  openLine: openSocketLine,
});
exposeControl(host, self, { wireVersion: WIRE_VERSION });
