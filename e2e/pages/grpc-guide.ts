import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { GRPCInferenceService, ModelInferRequestSchema } from "@naiad/grpc";

// What follows stands in docs/guide/grpc.md too, word for word.

const transport = createGrpcWebTransport({ baseUrl: location.origin });
const client = createClient(GRPCInferenceService, transport);

export async function add(
  left: Int32Array<ArrayBuffer>,
  right: Int32Array<ArrayBuffer>,
): Promise<Int32Array> {
  const tensor = (name: string) => ({ name, datatype: "INT32", shape: [1n, 16n] });
  const { rawOutputContents } = await client.modelInfer({
    modelName: "simple",
    inputs: [tensor("INPUT0"), tensor("INPUT1")],
    rawInputContents: [new Uint8Array(left.buffer), new Uint8Array(right.buffer)],
  });
  // The bytes may begin anywhere in their buffer, and an Int32Array may not: hence the copy.
  return new Int32Array((rawOutputContents[0] ?? new Uint8Array()).slice().buffer);
}

const oneRequest = {
  ...GRPCInferenceService.method.modelStreamInfer,
  methodKind: "server_streaming",
} as const;

export async function* count(upTo: number, signal: AbortSignal): AsyncGenerator<number> {
  const request = create(ModelInferRequestSchema, {
    modelName: "counter",
    inputs: [{ name: "N", datatype: "INT32", shape: [1n], contents: { intContents: [upTo] } }],
  });
  const requests = createAsyncIterable([request]);
  const { message } = await transport.stream(oneRequest, signal, undefined, undefined, requests);
  for await (const { errorMessage, inferResponse } of message) {
    if (errorMessage !== "") throw new Error(errorMessage);
    const [bytes] = inferResponse?.rawOutputContents ?? [];
    if (bytes !== undefined) yield new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
  }
}
