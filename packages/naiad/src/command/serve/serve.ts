import type { CommandIo, ExitCode } from "../command-io.ts";
import { serveHelp } from "./options/help.ts";
import { readServeOptions } from "./options/serve-options.ts";
import { runServer } from "./run-server.ts";

export { SERVE_SUMMARY } from "./options/help.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The `serve` command. The first signal drains, the second ends at once. */
export async function serve(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const options = readServeOptions(argv, process.env);
  if (options === "help") {
    io.out(serveHelp());
    return 0;
  }
  const stop = new AbortController();
  const force = new AbortController();
  const onSignal = (): void => {
    (stop.signal.aborted ? force : stop).abort();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await runServer(options, { io, environment: process.env, stop: stop.signal, force: force.signal });
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
