import type { LockManagerLike } from "@naiad/link";
import { whenDead, wrapControl } from "@naiad/link";
import type { HostInfo, LogLevel } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { AssetUrls, HostControl, HostStart } from "@naiad/runtime/contracts";
import { aliveLock, WIRE_VERSION } from "@naiad/runtime/contracts";
import type { WorkerSpawner } from "@naiad/runtime/platform";
import { randomId } from "@naiad/runtime/platform";
import type { StartSettings } from "./start-settings.ts";

/** How long a host worker may take until it serves; models load after that. */
const START_MS = 30_000;

/** How much longer than its drain a host worker may take until it has stopped. */
const STOP_MS = 10_000;

/** A host worker that belongs to this page. */
export interface OwnedHost {
  readonly hostId: string;
  readonly info: HostInfo;
  /** Resolves when the models of the start are loaded; rejects with Triton's text where that fails. */
  readonly ready: Promise<void>;
  /** Fires with the reason when the worker died or was stopped. */
  readonly lost: AbortSignal;
  /** A new port to the host for `peerId`, which must hold its alive lock. */
  openPort(kind: "client" | "gateway", peerId: string): Promise<MessagePort>;
  /** Serves the ports of the command that listens at `url`; resolves when the connection stands. */
  connectTunnel(url: string): Promise<void>;
  /** Writes a line of the page's into the server's log. */
  log(level: LogLevel, message: string): Promise<void>;
  /**
   * Drains, then ends the worker and its children, also where it rejects: with what the host could not do. Idempotent. One
   * that dies meanwhile or takes too long has been stopped too.
   */
  stop(): Promise<void>;
}

export interface StartHostOptions {
  readonly settings: StartSettings;
  readonly locks: LockManagerLike;
  readonly spawner: WorkerSpawner;
  /** Where a service worker answers from this host with files of models; absent without one. */
  readonly filesUrl: string | undefined;
  /** The host that served this page before. */
  readonly successorOf: string | undefined;
  readonly cors?: HostStart["cors"];
  /**
   * What becomes of a host whose models of the start failed. `end` (default): its worker is ended. `stay`: it answers that it
   * serves nothing, to whoever is connected and wants to know why.
   */
  readonly afterFailedStart?: "end" | "stay";
}

/** Starts a host worker; rejects, leaving nothing behind, where it cannot start. */
export async function startHost(options: StartHostOptions): Promise<OwnedHost> {
  const { settings, locks, spawner, filesUrl, successorOf, cors, afterFailedStart = "end" } = options;
  const hostId = randomId();
  const assets = assetUrls(settings.assets);
  const worker = spawner.spawn(assets.host, "naiad host");
  const gone = new AbortController();
  const hasEnded = (): boolean => gone.signal.aborted;
  const end = (reason: InferenceError): void => {
    if (hasEnded()) return;
    gone.abort(reason);
    worker.terminate();
  };
  void worker.failed.then((reason) =>
    end(new InferenceError("UNAVAILABLE", `the host worker '${assets.host}' failed: ${reason}`)),
  );
  const control = wrapControl<HostControl>(worker.endpoint, {
    peer: "the host worker",
    wireVersion: WIRE_VERSION,
    lost: gone.signal,
  });
  const start: HostStart = {
    wireVersion: WIRE_VERSION,
    hostId,
    options: settings.server,
    assets,
    storageName: `naiad:${settings.base}`,
    ...(filesUrl !== undefined && { filesUrl }),
    ...(successorOf !== undefined && { successorOf }),
    ...(cors !== undefined && { cors }),
  };
  const late = setTimeout(
    () => end(new InferenceError("UNAVAILABLE", `the host worker did not start within ${START_MS / 1000} s`)),
    START_MS,
  );
  let info: HostInfo;
  try {
    info = await control.start(start);
    clearTimeout(late);
  } catch (error) {
    clearTimeout(late);
    const reason = InferenceError.from(error);
    end(reason);
    throw reason;
  }
  // The worker took its lock before it answered `start`, so from here its release means death.
  whenDead(locks, aliveLock(hostId), gone.signal).then(
    () => end(new InferenceError("UNAVAILABLE", "the host worker died")),
    () => undefined,
  );
  const ready = control.ready();
  // A server whose start failed has stopped itself; what is left of it answers nothing.
  ready.catch((error: unknown) => {
    if (afterFailedStart === "end") end(InferenceError.from(error));
  });

  return {
    hostId,
    info,
    ready,
    lost: gone.signal,
    async openPort(kind, peerId) {
      const { port1, port2 } = new MessageChannel();
      await control.attach(kind, peerId, port1);
      return port2;
    },
    connectTunnel: (url) => control.connectTunnel(url),
    log: (level, message) => control.log(level, message),
    async stop() {
      if (hasEnded()) return;
      const limitMs = settings.server.exitTimeoutSecs * 1000 + STOP_MS;
      const late = setTimeout(
        () =>
          end(new InferenceError("UNAVAILABLE", `the host worker did not stop within ${limitMs / 1000} s`)),
        limitMs,
      );
      try {
        await control.stop();
      } catch (error) {
        // A host lets go of its lock before it answers, and the lock may be faster than the answer.
        if (!hasEnded()) throw error;
      } finally {
        clearTimeout(late);
        end(
          new InferenceError(
            "UNAVAILABLE",
            "Server is stopping, scheduler for model has stopped accepting new inference requests",
          ),
        );
      }
    },
  };
}

function assetUrls(folder: string): AssetUrls {
  return {
    host: `${folder}workers/host.js`,
    instanceWasm: `${folder}workers/instance-wasm.js`,
    instanceJspi: `${folder}workers/instance-jspi.js`,
    instanceAsyncify: `${folder}workers/instance-asyncify.js`,
    instanceJavascript: `${folder}workers/instance-javascript.js`,
    ort: `${folder}ort/`,
  };
}
