import type { MessagePort } from "node:worker_threads";
import type { TunnelLine } from "@naiad/link/tunnel";

/** A port between two threads as a line. Messages change hands. `explain` says why it closed, when the other end has. */
export function portLine(port: MessagePort, explain: () => Promise<string>): TunnelLine {
  return {
    send(message) {
      port.postMessage(message, [message.buffer]);
    },
    close() {
      port.close();
    },
    listen(message, closed) {
      port.on("message", message);
      port.on("close", () => {
        void explain().then(closed);
      });
    },
  };
}
