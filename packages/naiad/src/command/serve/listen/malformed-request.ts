import type { Server, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

/**
 * Answers what is no request with an error of the kind that clients of Triton read, and ends the connection. Where an answer to an
 * earlier request is on its way, only the end tells.
 */
export function answerMalformedRequests(server: Server): void {
  const responses = new WeakMap<object, ServerResponse>();
  server.on("request", ({ socket }, response: ServerResponse) => {
    responses.set(socket, response);
    response.once("close", () => responses.delete(socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || responses.get(socket)?.headersSent === true) {
      socket.destroy();
      return;
    }
    const status = STATUSES[error.code ?? ""] ?? 400;
    const body = JSON.stringify({ error: `malformed HTTP request: ${error.message}` });
    socket.end(
      `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ""}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
    );
  });
}

const STATUSES: Readonly<Record<string, number>> = {
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
