/// <reference lib="webworker" />
import * as ort from "onnxruntime-web/wasm";

/**
 * The peer of the benchmarks: what a careful developer writes in an afternoon. One worker, one session, one message in, one
 * message out, buffers transferred; no queue, no batching, no validation, no second client.
 */
export type PeerRequest =
  | { readonly kind: "load"; readonly model: string; readonly ortUrl: string; readonly threads: number }
  | {
      readonly kind: "run";
      readonly id: number;
      readonly input: string;
      readonly data: Float32Array;
      readonly dims: readonly number[];
    };

export type PeerResponse =
  | { readonly kind: "loaded" }
  | { readonly kind: "ran"; readonly id: number; readonly data: Float32Array }
  | { readonly kind: "failed"; readonly id: number; readonly message: string };

let session: ort.InferenceSession | undefined;
const answer = (response: PeerResponse, transfer: Transferable[] = []): void =>
  self.postMessage(response, { transfer });

async function handle(request: PeerRequest): Promise<void> {
  if (request.kind === "load") {
    ort.env.wasm.wasmPaths = request.ortUrl;
    ort.env.wasm.numThreads = request.threads;
    session = await ort.InferenceSession.create(request.model, { executionProviders: ["wasm"] });
    answer({ kind: "loaded" });
    return;
  }
  if (session === undefined) throw new Error("not loaded");
  const results = await session.run({
    [request.input]: new ort.Tensor("float32", request.data, request.dims),
  });
  const [output] = Object.values(results);
  if (!(output?.data instanceof Float32Array)) throw new Error("no float output");
  answer({ kind: "ran", id: request.id, data: output.data }, [output.data.buffer]);
}

self.onmessage = (event: MessageEvent<PeerRequest>): void => {
  const request = event.data;
  handle(request).catch((error: unknown) =>
    answer({ kind: "failed", id: request.kind === "run" ? request.id : 0, message: String(error) }),
  );
};
