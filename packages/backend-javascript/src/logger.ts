import type { Logger } from "./model/model.ts";
import type { ModelHost } from "./model-host.ts";

/** `args.logger`. */
export function createLogger(host: Pick<ModelHost, "log">): Logger {
  return {
    info: (message) => {
      host.log("info", message);
    },
    warn: (message) => {
      host.log("warning", message);
    },
    error: (message) => {
      host.log("error", message);
    },
    verbose: (message) => {
      host.log("verbose", message);
    },
    log: (message, level = "info") => {
      host.log(level, message);
    },
  };
}
