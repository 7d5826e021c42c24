import type { EmptyContract } from "@naiad/link";
import { createChannel } from "@naiad/link";
import type { ClientContract } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { EchoServer, MortalEndpoint } from "@naiad/testing";
import { answerEchoHttp, pairedEndpoints, realEndpoints, serveEchoPort } from "@naiad/testing";
import { expect } from "vitest";
import { createFetchTransport } from "../src/fetch-transport.ts";
import { createPortTransport } from "../src/port-transport.ts";
import type { Transport } from "../src/transport.ts";

/** How each transport reaches an echo server in this process; `lose` breaks the way. */
export interface Way {
  readonly transport: Transport;
  lose(): void;
  close(): void;
}

const LOST = new InferenceError("UNAVAILABLE", "the host is gone");

interface Ends {
  readonly left: MortalEndpoint;
  readonly right: MortalEndpoint;
}

export function overChannel(server: EchoServer, ends: Ends = pairedEndpoints()): Way {
  const host = serveEchoPort(server, ends.right);
  const channel = createChannel<ClientContract, EmptyContract>(
    ends.left,
    { calls: {}, streams: {}, notes: {} },
    { peer: "host" },
  );
  return {
    transport: createPortTransport(channel),
    lose() {
      ends.right.kill();
      channel.close(LOST);
    },
    close() {
      host.close(LOST);
      channel.close(LOST);
    },
  };
}

/** Triton's routes, as far as these tests go. */
export function overFetch(server: EchoServer): Way {
  const lost = new AbortController();
  const transport = createFetchTransport({
    url: "http://triton.test/base/",
    headers: { "x-key": "secret" },
    fetch: async (url, init) => {
      expect(new Headers(init.headers).get("x-key")).toBe("secret");
      const signal = AbortSignal.any([lost.signal, ...(init.signal ? [init.signal] : [])]);
      const path = url.slice("http://triton.test/base".length);
      const request = new Request(url, { ...init, signal });
      const answered = answerEchoHttp(server, path, request);
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reject(lost.signal.aborted ? new TypeError("Failed to fetch") : (signal.reason as Error));
        });
        if (signal.aborted) reject(signal.reason as Error);
      });
      return await Promise.race([answered, aborted]);
    },
  });
  return {
    transport,
    lose() {
      lost.abort();
    },
    close: () => undefined,
  };
}

export const WAYS = [
  { name: "a channel over paired endpoints", open: (server: EchoServer) => overChannel(server) },
  {
    name: "a channel over a real MessageChannel",
    open: (server: EchoServer) => overChannel(server, realEndpoints()),
  },
  { name: "fetch", open: overFetch },
] as const;
