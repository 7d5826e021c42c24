import type { TunnelAsker } from "@naiad/link/tunnel";

/** What hosts run in: a browser, or threads of this process. */
export interface HostRuntime {
  /** For texts: `the browser`. */
  readonly name: string;
  /** Starts a host. What goes wrong is told by its `lost`. */
  launch(life: HostLife): HostRun;
}

export interface HostLife {
  /** The last host, whose models are to be loaded again; absent for the first. */
  readonly successorOf: string | undefined;
  /** To be called, once, when the host has an id. */
  readonly onStarted: (hostId: string) => void;
}

/** One host from its start to its end. */
export interface HostRun {
  /** Resolves with the way to the host once that serves; stays pending where it never does. */
  readonly connected: Promise<TunnelAsker>;
  /** Resolves, with the reason, when the host is gone or of no more use. Never rejects. */
  readonly lost: Promise<string>;
  /** Resolves when nothing of it is left; `asked` lets it put its things away first. May be called again. */
  end(how: "asked" | "at once"): Promise<void>;
}
