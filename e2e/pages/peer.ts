import type { PeerRequest, PeerResponse } from "./hand-written-worker.ts";

/** The page's side of the hand-written worker. */
export interface Peer {
  /** The caller keeps `data`: it is copied into the message, as Naiad's SDK does. */
  run(input: string, data: Float32Array, dims: readonly number[]): Promise<Float32Array>;
  end(): void;
}

export async function startPeer(model: string, ortUrl: string, threads: number): Promise<Peer> {
  const worker = new Worker(new URL("./hand-written-worker.ts", import.meta.url), { type: "module" });
  const waiting = new Map<number, { resolve(data: Float32Array): void; reject(error: Error): void }>();
  let lastId = 0;
  await new Promise<void>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PeerResponse>) => {
      if (data.kind === "loaded") resolve();
      else if (data.kind === "ran") waiting.get(data.id)?.resolve(data.data);
      else if (data.id === 0) reject(new Error(data.message));
      else waiting.get(data.id)?.reject(new Error(data.message));
      if (data.kind !== "loaded") waiting.delete(data.id);
    };
    worker.onerror = (event) => reject(new Error(event.message));
    send({ kind: "load", model, ortUrl, threads });
  });

  function send(request: PeerRequest): void {
    worker.postMessage(request);
  }

  return {
    run: (input, data, dims) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        send({ kind: "run", id, input, data, dims });
      }),
    end: () => worker.terminate(),
  };
}
