import type { Ping, Pong } from "@naiad/runtime/contracts";

/** How long a service worker may take to say what it speaks. */
const ANSWER_MS = 2_000;

/** The wire version of the gateway that serves `base` in this service worker; `undefined` where none answers in time. */
export function askWireVersion(
  worker: Pick<ServiceWorker, "postMessage">,
  base: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    const end = (version: number | undefined): void => {
      port1.close();
      deadline.removeEventListener("abort", giveUp);
      resolve(version);
    };
    const giveUp = (): void => end(undefined);
    port1.onmessage = ({ data }: MessageEvent<unknown>) => {
      // An application may have gateways for several bases.
      if (isPong(data) && data.base === base) end(data.wireVersion);
    };
    deadline.addEventListener("abort", giveUp, { once: true });
    if (deadline.aborted) {
      giveUp();
      return;
    }
    const ping: Ping = { naiad: "ping" };
    worker.postMessage(ping, [port2]);
  });
}

function isPong(data: unknown): data is Pong {
  return typeof data === "object" && data !== null && "naiad" in data && data.naiad === "pong";
}
