import type { TunnelLine } from "@naiad/link/tunnel";
import type { RawData, WebSocket } from "ws";

/** A WebSocket of the `ws` library as a line. `explain` says why it closed, when it has closed by itself. */
export function socketLine(socket: WebSocket, explain: (code: number) => Promise<string>): TunnelLine {
  socket.binaryType = "nodebuffer";
  return {
    send(message) {
      if (socket.readyState === socket.OPEN) socket.send(message);
    },
    close() {
      socket.close();
    },
    listen(message, closed) {
      socket.on("message", (data: RawData) => {
        // Of the binary type that was asked for above.
        message(data as Buffer);
      });
      // The close that follows tells it.
      socket.on("error", () => undefined);
      socket.on("close", (code) => {
        void explain(code).then(closed);
      });
    },
  };
}
