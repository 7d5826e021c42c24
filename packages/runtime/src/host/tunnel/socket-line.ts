import type { TunnelLine } from "@naiad/link/tunnel";
import { InferenceError } from "@naiad/protocol";

/** Connects to `url`; rejects with UNAVAILABLE where that fails. */
export function openSocketLine(url: string): Promise<TunnelLine> {
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    // A browser keeps the reason from scripts.
    socket.addEventListener("close", () => {
      reject(new InferenceError("UNAVAILABLE", "no connection to the command that started the browser"));
    });
    socket.addEventListener("open", () => {
      resolve(lineOf(socket));
    });
  });
}

function lineOf(socket: WebSocket): TunnelLine {
  return {
    send(message) {
      if (socket.readyState === WebSocket.OPEN) socket.send(message);
    },
    close() {
      socket.close();
    },
    listen(message, closed) {
      socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
        message(new Uint8Array(data));
      });
      socket.addEventListener("close", ({ code, reason }) => {
        closed(reason === "" ? `the connection was closed (${code})` : reason);
      });
    },
  };
}
