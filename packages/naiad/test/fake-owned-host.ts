import { InferenceError } from "@naiad/protocol";
import type { OwnedHost } from "../src/sdk/host-owner.ts";

export interface FakeOwnedHost extends OwnedHost {
  die(): void;
  /** How often it was told to stop. */
  stops: number;
}

/** A host that gives ports nobody serves, and dies when it is told to or stopped. */
export function fakeOwnedHost(hostId: string): FakeOwnedHost {
  const gone = new AbortController();
  const host: FakeOwnedHost = {
    hostId,
    info: {} as OwnedHost["info"],
    ready: Promise.resolve(),
    lost: gone.signal,
    stops: 0,
    die: () => {
      gone.abort(new InferenceError("UNAVAILABLE", "the host worker died"));
    },
    log: () => Promise.resolve(),
    openPort: () => Promise.resolve(new MessageChannel().port2),
    connectTunnel: () => Promise.reject(new Error("no tunnel in this test")),
    stop: () => {
      host.stops += 1;
      host.die();
      return Promise.resolve();
    },
  };
  return host;
}
