import type { InferenceClient } from "@naiad/client";
import type { HostInfo, InstanceReport, ServerEvent, TraceNote } from "@naiad/protocol";

/** What `startServer` resolves with: this page's part of a running server. */
export interface NaiadServer {
  /** Talks to the server over a port: no HTTP, cancellable, and it moves on to the next page's host when this one goes. */
  readonly client: InferenceClient;
  /** `service-worker`: one server for all pages of this base. `direct`: this page's own. */
  readonly mode: "service-worker" | "direct";
  /**
   * Whether plain `fetch("<base>v2/...")` of this page is answered. False in mode `direct`, and after a hard reload, which
   * keeps the service worker from controlling the page until the next ordinary one.
   */
  readonly fetchReachesServer: boolean;
  /** The host that serves now, whichever page runs it. */
  info(): Promise<HostInfo>;
  /** The instances of every loaded model and what they really run on. */
  instances(): Promise<readonly InstanceReport[]>;
  /**
   * The log lines kept so far; then progress, model states and log lines as they come. Ends when the signal fires or the
   * server is stopped.
   */
  events(options?: { readonly signal?: AbortSignal }): AsyncIterable<ServerEvent>;
  /**
   * Traces, see the option `traceConfig` and `client.updateTraceSettings`: those that are kept, then those that come, each when
   * nothing happens to its request any more. About the last 16 MB are kept; who reads too late is told how many were dropped.
   * Ends when the signal fires or the server is stopped. `tritonTraceText` makes of them what Triton writes to its trace file.
   */
  traces(options?: { readonly signal?: AbortSignal }): AsyncIterable<TraceNote>;
  /**
   * Leaves the server. If this page runs the host, requests in flight are finished and the next page takes over. Idempotent.
   */
  stop(): Promise<void>;
}
