import type { ServedRequest } from "./listener.ts";

/** A line in the format that web servers share, with the milliseconds that the request took at its end. */
export function accessLogLine(served: ServedRequest): string {
  const { bodyBytes, durationMs, httpVersion, method, rawTarget, remoteAddress, startedMs, status } = served;
  const request = `${method} ${rawTarget} HTTP/${httpVersion}`.replaceAll(
    /["\\\u0000-\u001f\u007f]/g,
    escape,
  );
  const date = new Date(startedMs).toISOString();
  return `${remoteAddress} - - [${date}] "${request}" ${String(status)} ${String(bodyBytes)} ${durationMs.toFixed(1)}`;
}

function escape(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
