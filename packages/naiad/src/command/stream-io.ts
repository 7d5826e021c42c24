import type { Writable } from "node:stream";
import type { CommandIo } from "./command-io.ts";

/** Whoever reads may go away, as `head` does: what is written then is lost, which is no reason to end, least of all for a server. */
export function createStreamIo(out: Writable, error: Writable): CommandIo {
  for (const stream of new Set([out, error])) stream.on("error", () => undefined);
  return {
    out: (line) => void out.write(`${line}\n`),
    error: (line) => void error.write(`${line}\n`),
  };
}
