import type { WhoIsHost } from "@naiad/runtime/contracts";

/** Whether a message of the service worker asks for the host of `base`. */
export function isHostQuestion(data: unknown, base: string): data is WhoIsHost {
  if (typeof data !== "object" || data === null) return false;
  const message = data as Partial<WhoIsHost>;
  return message.naiad === "who-is-host" && message.base === base;
}
