import type { HostStart } from "@naiad/runtime/contracts";
import type { StartSettings } from "../../../sdk/start-settings.ts";

/** What the page reads before it starts the host. */
export interface PageStart {
  readonly settings: StartSettings;
  /** Where the command waits for the host; good for one connection. */
  readonly tunnelUrl: string;
  readonly filesUrl: string;
  readonly successorOf?: string;
  readonly cors: NonNullable<HostStart["cors"]>;
}

/** What the page tells the command. */
export type PageReport =
  | { readonly kind: "started"; readonly hostId: string }
  /** The host did not start, or has died. */
  | { readonly kind: "lost"; readonly reason: string };
