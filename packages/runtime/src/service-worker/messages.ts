import type { FindHost, HereIsHost, HostIsComing, Ping, StartFailed } from "../contracts.ts";

/** Everything that a page may post to a gateway. */
export type PageMessage = FindHost | HereIsHost | HostIsComing | StartFailed | Ping;

const KINDS: ReadonlySet<unknown> = new Set<PageMessage["naiad"]>([
  "find-host",
  "here-is-host",
  "host-is-coming",
  "start-failed",
  "ping",
]);

/** A page's message to us, or `undefined` for anything else that an application posts to its service worker. */
export function readPageMessage(data: unknown): PageMessage | undefined {
  if (typeof data !== "object" || data === null || !("naiad" in data)) return undefined;
  // Pages of this origin are trusted with the rest of the shape; a page of another wire version differs in meaning only.
  return KINDS.has(data.naiad) ? (data as PageMessage) : undefined;
}
